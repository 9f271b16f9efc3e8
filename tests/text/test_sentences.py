"""Sentences end in the right places; nothing is lost or takes for ever."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencex import segment

from bert_data.text import sentences
from bert_data.text.sentences import join_wrapped_lines, split_sentences
from bert_data.text.text_config import check_language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("no stop", ["no stop"]),
        ("It is so-so. Why? It ends!", ["It is so-so.", "Why?", "It ends!"]),
        ("Mr. Smith, e.g. Tom, left. It is 3.5", ["Mr. Smith, e.g. Tom, left.", "It is 3.5"]),
        ('"No." He left.', ['"No."', "He left."]),
        ("he said no. and left", ["he said no. and left"]),
        ("one\ntwo three\r\n\r\nfour", ["one", "two three", "four"]),
        ("Ends here.\nsmall letter", ["Ends here.", "small letter"]),
        ("今天好。明天？「好。」好", ["今天好。", "明天？", "「好。」", "好"]),
        ("Lee et al. [2004] analysed it. So.", ["Lee et al. [2004] analysed it.", "So."]),
        (
            "See Lee et al. [4]. He left. [5] The end",
            ["See Lee et al. [4].", "He left. [5]", "The end"],
        ),
        ("Cf. [3]\nsmall", ["Cf. [3]", "small"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_wrapped_lines_are_joined_first() -> None:
    text = "First sentence that is\nwrapped at a short\nwidth. And a\nsecond one."
    assert split_sentences(text) == [
        "First sentence that is wrapped at a short width.",
        "And a second one.",
    ]
    assert split_sentences(text, joins_lines=False)[:2] == text.split("\n")[:2]


def test_danish_and_catalan_have_the_rules_of_neighbours() -> None:
    danish = "Han blev født den 1. januar 2004 i Kbh. og døde kl. 12."
    assert split_sentences(f"{danish} Det var ca. 5. gang.", "da") == [
        danish,
        "Det var ca. 5. gang.",
    ]
    catalan = "El Sr. Puig, etc. també hi era."
    assert split_sentences(f"{catalan} La Dra. Vila va dir p. ex. que sí.", "ca")[0] == catalan


@pytest.mark.parametrize(
    ("language", "neighbour"),
    [("da", "de"), ("jut", "de"), ("kl", "de"), ("ca", "es"), ("oc", "es"), ("it", "it")],
)
def test_languages_that_share_slow_rules_have_those_of_neighbours(
    language: str, neighbour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noted(language: str, text: str) -> list[str]:
        asked.append(language)
        return segment(language, text)

    monkeypatch.setattr("sentencex.segment", noted)
    assert split_sentences("Ja. Nej.", language) == ["Ja.", "Nej."]
    assert asked == [neighbour]


@pytest.mark.parametrize("language", ["en", "fr", "de", "it", "pl", "ta", "da", "ca"])
def test_parts_go_on_whatever_a_language_says(language: str, monkeypatch) -> None:
    """French ends a sentence after the first two letters of 'A.A.A.'."""
    calls = []

    def counted(language: str, text: str) -> list[str]:
        calls.append(len(text))
        return segment(language, text)

    monkeypatch.setattr("sentencex.segment", counted, raising=True)
    monkeypatch.setattr(sentences, "MAX_SEGMENTED_CHARACTERS", 80)
    text = "A." * 1000
    assert "".join(split_sentences(text, language)) == text
    assert sum(calls) <= 8 * len(text)


def test_the_language_has_a_say() -> None:
    text = "Das gilt ab dem 1. Januar und Dr. Braun weiß es."
    assert split_sentences(text, "de") == [text]
    assert split_sentences("今天好。明天？", "zh") == ["今天好。", "明天？"]


@pytest.mark.parametrize("language", ["", "EN", "english", "e", "de_DE", "de-"])
def test_what_is_no_language(language: str) -> None:
    with pytest.raises(ValueError, match=r"^language is .*ISO 639"):
        check_language(language)


@pytest.mark.parametrize("part", [".", "\n", '!"', ". ", ".'", " a", "。", "("])
def test_loses_nothing_of_long_runs(part: str) -> None:
    text = part * 20_000
    joined = "".join(split_sentences(text))
    assert "".join(joined.split()) == "".join(text.split())


@given(st.text(), st.integers(1, 12))
def test_loses_nothing_whatever_the_parts(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "MAX_SEGMENTED_CHARACTERS", size)
        split = split_sentences(text)
    assert "".join("".join(split).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in split)


def test_long_lines_are_split_as_short_ones() -> None:
    text = " ".join(f"Sentence {i} is here, said Mr. Smith." for i in range(2000))
    assert split_sentences(text) == [f"Sentence {i} is here, said Mr. Smith." for i in range(2000)]


PROSE = (
    "When the sun had gone down over the hills, the old man closed the door of his shop and walked"
    " slowly along the river to the bridge, where Anna was waiting. She had a letter in her hand,"
    " and she gave it to him without a word. He read it twice; then he began to laugh."
)


@pytest.mark.parametrize("width", [22, 40, 72, 120, 190])
@pytest.mark.parametrize("indent", ["", "    "])
def test_a_wrapped_paragraph_is_joined_whatever_its_width(width, indent):
    wrapped = textwrap.fill(PROSE, width, initial_indent=indent)
    assert join_wrapped_lines(wrapped) == PROSE
    assert join_wrapped_lines(f"\n{wrapped}\r\n\r\n \n{wrapped}") == f"\n{PROSE}\n\n \n{PROSE}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "First sentence that is\nwrapped at a short\nwidth.",
            "First sentence that is wrapped at a short width.",
        ),
        ("今天天气很好，我们一起去公园散步，看到很多花和\n树，还有一些小动物在草地上跑来跑去，孩子们非常\n高兴。",
         "今天天气很好，我们一起去公园散步，看到很多花和树，还有一些小动物在草地上跑来跑去，孩子们非常高兴。"),
        ("It is a truth universally acknowledged, that a single\n man in possession of a fortune.",
         "It is a truth universally acknowledged, that a single man in possession of a fortune."),
        # A dash joins without a space; a soft hyphen goes.
        ("He looked at the river and said--\nbut nobody heard him over the noise.",
         "He looked at the river and said--but nobody heard him over the noise."),
        ("The examination of the exam\u00ad\nple was a long one for all of us.",
         "The examination of the example was a long one for all of us."),
        # A hyphen goes if the text has the word without it.
        ("An example of this is an exam-\nple that has been broken, as a well-\nknown example is.",
         "An example of this is an example that has been broken, as a well-known example is."),
        # The lines of paragraphs without blank lines between them.
        ("    He went over to the window and looked out at\nthe rain for a long time.\n"
         "    Then he sat down at the table again and began\nto write.",
         "He went over to the window and looked out at the rain for a long time.\n\n"
         "Then he sat down at the table again and began to write."),
        # Items of a list, wrapped with a hanging indent.
        ("- The first item of this list is so long that\n  it goes on in the next line.\n- Two.",
         "- The first item of this list is so long that it goes on in the next line.\n\n- Two."),
    ],
)  # fmt: skip
def test_joined(text, expected):
    assert join_wrapped_lines(text) == expected
    assert join_wrapped_lines(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line",
        "Roses are red,\nViolets are blue,\nSugar is sweet,\nAnd so are you.",
        "April is the cruellest month, breeding\nLilacs out of the dead land, mixing\n"
        "Memory and desire, stirring\nDull roots with spring rain.",
        "    O loaf of bread,\n    so round, so red,\n    I'd rather die than\n    not be fed.",
        "o wind from the west, that carries the rain,\nand clouds from the sea, birds to plain,\n"
        "and ships to the bay, and leaves to the lane,\nbe still for a day.",
        "the fog comes\non little cat feet\nit sits looking\nover harbor and city\non silent legs",
        "The first sentence of a text is here.\nThe second sentence is a line, too.\nAnd a third.",
        "- milk and bread\n- eggs from the farm\n- a bottle of wine",
        "1. Open the door of the oven.\n2. Put the bread in carefully.\n3. Close the door again.",
        "Name     Age   City\nAnna      31   Paris\nBert      45   Rome",
        "> The meeting is on Monday, and all of us\n> will be there, as far as we know now.",
        "def double(number):\n    result = number * 2\n    return result",
        "int main(void) {\n  printf(text);\n  return 0;\n}",
        "```\nwhile there is something to read from\nthe file that was opened\n```",
        "A heading\n\nA paragraph that is one long line. " + "It goes on. " * 30 + "\nAnother one.",
        "Anna Smith, 12 High Street\nLondon",
        "上海驾校培训费均价已过万，学费只有一半。\n沪车管所表示，外地驾校属违规经营。\n沪上驾校因场地贵等原因调价。",
    ],
)
def test_kept(text):
    assert join_wrapped_lines(text) == text


LINE = st.text(st.sampled_from("ab A.-\t\xa0\x1c中é0*#|;{`"), max_size=40)


@given(st.lists(st.one_of(LINE, st.sampled_from(["", "  and so it went on and on", PROSE[:60]]))))
def test_joining_again_changes_nothing_and_no_letter_is_lost(lines):
    text = "\n".join(lines)
    joined = join_wrapped_lines(text)
    assert join_wrapped_lines(joined) == joined
    assert _without_spaces(joined) == _without_spaces(text)


def _without_spaces(text):
    return "".join(text.replace("-", "").split())


@given(st.lists(st.text(st.sampled_from("aA .-\n` "), max_size=2000), max_size=3))
def test_any_text_is_joined_in_bounded_time(parts):
    join_wrapped_lines("".join(part * 20 for part in parts))
