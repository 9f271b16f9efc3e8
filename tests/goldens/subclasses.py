"""Subclasses of a basic tokenizer, each with one step overridden: ours and Google's run them."""

from collections.abc import Callable
from typing import Any


def hyphens_for_soft_ones(base: Any) -> Any:
    class Cleaning(base):
        def _clean_text(self, text):
            return super()._clean_text(text.replace("\u00ad", "-"))

    return Cleaning


def ideographs_in_words(base: Any) -> Any:
    class WithoutIdeographs(base):
        def _tokenize_chinese_chars(self, text):
            return text

    return WithoutIdeographs


def kana_apart(base: Any) -> Any:
    class WithKana(base):
        def _is_chinese_char(self, cp):
            return 0x3040 <= cp <= 0x30FF or super()._is_chinese_char(cp)

    return WithKana


def accents_kept(base: Any) -> Any:
    class WithAccents(base):
        def _run_strip_accents(self, text):
            return text

    return WithAccents


def hyphens_in_words(base: Any) -> Any:
    class WithHyphens(base):
        def _run_split_on_punc(self, text):
            parts = super()._run_split_on_punc(text.replace("-", "\ue000"))
            return [part.replace("\ue000", "-") for part in parts]

    return WithHyphens


SUBCLASSES: dict[str, Callable[[Any], Any]] = {
    function.__name__: function
    for function in (
        hyphens_for_soft_ones,
        ideographs_in_words,
        kana_apart,
        accents_kept,
        hyphens_in_words,
    )
}
