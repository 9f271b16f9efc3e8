"""Documents of token stores, of sentences and of whole documents."""

import json
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.inspection.readable_ids import load_words
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.gpt.stores import write_store
from tests.inspection.looking import header, look, open_path, page

TEXT = "the cat sat.\nit was unbelievable.\n\nthe dog ran home.\n"


def make(folder: Path, level: str, text: str = TEXT, name: str = "text.txt") -> Path:
    source, prefix = folder / name, folder / level
    source.write_text(text)
    make_stores(
        StoreConfig(
            input_file=str(source), output_prefix=str(prefix), level=level, num_workers=1,
            vocab_file=str(folder / "vocab.txt"),
        )
    )  # fmt: skip
    return prefix


def test_sentences_are_lines(tmp_path: Path, vocabulary: Path) -> None:
    prefix = make(tmp_path, "sentence")
    expected = "\n" + page("""
        document 0  sentence:0
          from  text.txt:1
          1     the cat sat .
          2     it was unbelievable .
                10 tokens in 2 sequences

        document 1  sentence:1
          from  text.txt:4
                the dog ran home .
                5 tokens
        """)
    assert look(prefix, vocabulary) == expected
    for name in (f"{prefix}.bin", f"{prefix}.idx", f"file://{prefix}", f"{tmp_path}/sen*.idx"):
        assert look(name, vocabulary).splitlines()[3] == "  1     the cat sat ."


def test_documents(tmp_path: Path, vocabulary: Path) -> None:
    source = open_path(make(tmp_path, "document"))
    assert source.count() == 2
    (item,) = source.read([1])
    assert item.fields["tokens"].tolist() == [5, 16, 17, 18, 10]
    assert "level document" in header(source)
    assert source.description.do_lower_case is True
    assert look("", vocabulary, source=source, word="Unbelievable").count("\ndocument ") == 1


def test_a_long_document_is_cut(tmp_path: Path, vocabulary: Path) -> None:
    shown = look(make(tmp_path, "sentence"), vocabulary, record="0", max_tokens=4)
    assert "10 tokens in 2 sequences; 1 sequences are not shown" in shown
    assert "unbelievable" not in shown


def test_rows(tmp_path: Path, vocabulary: Path) -> None:
    source = open_path(make(tmp_path, "sentence"))
    first, _ = source.stream()
    assert source.row(first, load_words(str(vocabulary))) == {
        "document": 0,
        "file": "text.txt",
        "row": 1,
        "sequences": [[5, 6, 7, 10], [11, 12, 13, 14, 15, 10]],
        "text": ["the cat sat .", "it was unbelievable ."],
    }


def test_where_documents_came_from(tmp_path: Path, vocabulary: Path) -> None:
    rows = [{"id": "a1", "url": "https://a.org/1"}, {"id": "a2"}, {}]
    text = "".join(json.dumps({"text": "the cat sat.", **row}) + "\n" for row in rows)
    prefix = make(tmp_path, "sentence", text, "text.jsonl")
    shown = look(prefix, vocabulary).splitlines()
    from_lines = [line.partition("  from  ")[2] for line in shown if "  from  " in line]
    assert from_lines == ["a1  https://a.org/1", "a2", "text.jsonl:3"]
    source = open_path(prefix)
    named = [source.row(item, load_words(None)) for item in source.stream()]
    assert [row.get("id") for row in named] == ["a1", "a2", None]
    Path(f"{prefix}.provenance.parquet").write_bytes(b"")
    with pytest.raises(CorruptDataError, match=r"provenance\.parquet"):
        open_path(prefix)


def test_several_stores_are_numbered_through(tmp_path: Path, vocabulary: Path) -> None:
    one, other = make(tmp_path, "sentence"), make(tmp_path, "document")
    source = open_path(f"{one},{other}")
    assert source.count() == 4
    places = [(item.number, item.path, item.place) for item in source.read([1, 2, 7])]
    assert places == [(1, str(one), 1), (2, str(other), 0)]


def test_a_store_beside_something_else(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(TEXT)
    prefix = write_store(tmp_path / "web", [[5]])
    for other in (f"{tmp_path}/c.txt", f"{tmp_path}/none"):
        with pytest.raises(ValueError, match=f"web' names token stores, but '{other}' does not; "):
            open_path(f"{prefix},{other}")


def test_a_damaged_store(tmp_path: Path, vocabulary: Path) -> None:
    prefix = make(tmp_path, "sentence")
    path = Path(f"{prefix}.bin")
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(CorruptDataError, match=r"sentence.bin: .*the index says"):
        open_path(prefix)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"sentence.bin"):
        open_path(prefix)


def test_empty_documents(tmp_path: Path) -> None:
    write_store(tmp_path / "web", [[], [5], []])
    stored = [item.fields["tokens"].tolist() for item in open_path(tmp_path / "web").stream()]
    assert stored == [[], [5], []]


def test_the_files_of_a_store_may_be_links_to_different_places(tmp_path: Path) -> None:
    for name in ("disk", "here"):
        (tmp_path / name).mkdir()
    prefix = write_store(tmp_path / "disk" / "web", [[5], [6, 7]])
    for ending, name in (("bin", "data-0"), ("idx", "index-0")):
        Path(f"{prefix}.{ending}").rename(tmp_path / "disk" / name)
        (tmp_path / "here" / f"web.{ending}").symlink_to(tmp_path / "disk" / name)
    assert open_path(tmp_path / "here" / "web").count() == 2
