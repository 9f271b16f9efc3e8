"""What a code point becomes: examples of each action, and the sigma's rule on real words."""

import pytest

import tokenization
from bert_data.tokens.codepoints import Action, are_plain_ideographs, describe


@pytest.mark.parametrize(
    ("char", "action", "letters"),
    [
        ("É", Action.LETTERS, "e"),
        ("각", Action.LETTERS, "\u1100\u1161\u11a8"),
        ("İ", Action.LETTERS, "i"),
        ("\u0301", Action.DELETE, ""),
        ("\u00ad", Action.DELETE, ""),
        ("\x00", Action.DELETE, ""),
        ("\x85", Action.DELETE, ""),
        ("\ufffd", Action.DELETE, ""),
        ("\t", Action.SPACE, ""),
        ("\u2028", Action.SPACE, ""),
        ("\u3000", Action.SPACE, ""),
        ("東", Action.IDEOGRAPH, "東"),
        ("\uf900", Action.IDEOGRAPH, "\u8c48"),
        ("$", Action.PUNCTUATION, "$"),
        ("\u037e", Action.PUNCTUATION, ";"),
        ("Σ", Action.SIGMA, "σς"),
        ("\ua9c0", Action.MARK, "\ua9c0"),
        ("\U0001d15f", Action.MARK, "\U0001d158\U0001d165"),
        ("\ud800", Action.UNUSUAL, ""),
    ],
)
def test_lower_cased(char: str, action: Action, letters: str) -> None:
    point = describe(char, do_lower_case=True)
    assert (point.action, point.letters) == (action, letters)


@pytest.mark.parametrize(
    ("char", "action"),
    [
        ("É", Action.LETTERS),
        ("각", Action.LETTERS),
        ("Σ", Action.LETTERS),
        ("\u0301", Action.LETTERS),
        ("\ua9c0", Action.LETTERS),
        ("\u1fef", Action.LETTERS),  # a punctuation mark only once decomposed
        ("\uf900", Action.IDEOGRAPH),
        ("…", Action.PUNCTUATION),
    ],
)
def test_cased(char: str, action: Action) -> None:
    point = describe(char, do_lower_case=False)
    assert (point.action, point.letters) == (action, char)


def test_spaces_are_those_of_str() -> None:
    for code in range(0x3100):
        assert describe(chr(code), do_lower_case=True).is_space == chr(code).isspace()


def test_what_a_sigma_sees() -> None:
    def seen(char: str) -> str:
        point = describe(char, do_lower_case=True)
        assert not (point.is_cased and point.is_ignorable)
        return "cased" if point.is_cased else "ignorable" if point.is_ignorable else "other"

    assert {seen(char) for char in "aZΣßǅ"} == {"cased"}
    assert {seen(char) for char in ".'\u0301\u0345ʰ\u00ad\x00"} == {"ignorable"}
    assert {seen(char) for char in "1,- 東가"} == {"other"}


def test_what_the_kernel_relies_on_holds_for_every_code_point() -> None:
    # UNUSUAL costs time only, but there should be none but the surrogates.
    for code in [*range(0x3400), *range(0xA000, 0xAD00), *range(0xD7A0, 0x20000)]:
        point = describe(chr(code), do_lower_case=True)
        assert (point.action == Action.UNUSUAL) == (0xD800 <= code < 0xE000)
        assert len(point.letters) <= 3
        if point.action in (Action.IDEOGRAPH, Action.PUNCTUATION):
            assert len(point.letters) == 1


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    ("text", "plain"),
    [("東京", (True, True)), ("東a", (False, False)), ("東\uf900", (True, False))],
)
def test_plain_ideographs(text: str, plain: tuple[bool, bool], lower: bool) -> None:
    assert are_plain_ideographs(text, do_lower_case=lower) == plain[lower]
    if plain[lower]:
        assert tokenization.BasicTokenizer(lower).tokenize(text) == list(text)
