import yaml

from bert_data.markdown import cell, table, with_front_matter


def test_tables_hold_texts_of_any_origin():
    assert table(["a", "n"], [("x|y\n<b>", "1"), ("*`", "2")]) == (
        "| a | n |\n| --- | ---: |\n| x\\|y \\<b\\> | 1 |\n| \\*\\` | 2 |\n"
    )
    assert "| --- | --- |" in table(["a", "n"], [], is_text=[1])
    assert cell("a  [b](c) # d_e") == "a \\[b\\](c) \\# d\\_e"


def test_front_matter():
    text = with_front_matter({"b": ["no", "é"], "a": None, "c": 1}, "# t\n")
    head, _, body = text.removeprefix("---\n").partition("---\n")
    assert yaml.safe_load(head) == {"b": ["no", "é"], "c": 1}
    assert body == "\n# t\n" and "é" in head
