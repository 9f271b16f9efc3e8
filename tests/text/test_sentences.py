"""Where sentences end, and that nothing is lost or takes for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.text import sentences
from bert_data.text.sentences import check_language, split_sentences


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
        patch.setattr(sentences, "_MAX_CHARACTERS", size)
        split = split_sentences(text)
    assert "".join("".join(split).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in split)


def test_long_lines_are_split_as_short_ones() -> None:
    text = " ".join(f"Sentence {i} is here, said Mr. Smith." for i in range(2000))
    assert split_sentences(text) == [f"Sentence {i} is here, said Mr. Smith." for i in range(2000)]
