"""Rules for code points: the sigma's on real words, and those that the kernel relies on."""

import pytest

import tokenization
from bert_data.tokens.bert_rules import Action, are_plain_ideographs, code_point


def test_what_a_sigma_sees() -> None:
    def seen(char: str) -> str:
        point = code_point(char, do_lower_case=True)
        assert not (point.is_cased and point.is_ignorable)
        return "cased" if point.is_cased else "ignorable" if point.is_ignorable else "other"

    assert {seen(char) for char in "aZΣßǅ"} == {"cased"}
    assert {seen(char) for char in ".'\u0301\u0345ʰ\u00ad\x00"} == {"ignorable"}
    assert {seen(char) for char in "1,- 東가"} == {"other"}


def test_what_the_kernel_relies_on_holds_for_every_code_point() -> None:
    # UNUSUAL costs time only, but there should be none but the surrogates.
    for code in [*range(0x3400), *range(0xA000, 0xAD00), *range(0xD7A0, 0x20000)]:
        point = code_point(chr(code), do_lower_case=True)
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
