r"""How each model's text is normalized and split into the words that its pieces are made of.

    "Low, lower."   wordpiece  low , lower .       BERT's basic tokenizer
                    bpe        Low , Ġlower .      bytes; a word begins with the space before it
                    unigram    ▁Low, ▁lower.       SentencePiece's

No word crosses a cut between `chunks_of` a line, so that each different chunk is split once.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import normalizers, pre_tokenizers

WORDPIECE, BPE, UNIGRAM = MODELS = ("wordpiece", "bpe", "unigram")

_SPACES = re.compile(r"\s\s")
_CUT = re.compile(r"(?<=\S)(?= )")


def open_rules(
    model: str, *, do_lower_case: bool
) -> "tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]":
    """Return what normalizes and what splits the text of a model."""
    from tokenizers import normalizers, pre_tokenizers

    if model == WORDPIECE:
        bert = normalizers.BertNormalizer(lowercase=do_lower_case)
        return bert, pre_tokenizers.BertPreTokenizer()
    lower = [normalizers.Lowercase()] if do_lower_case else []
    if model == BPE:
        form = normalizers.Sequence([normalizers.NFC(), *lower])
        return form, pre_tokenizers.ByteLevel(add_prefix_space=False)
    return normalizers.Sequence([normalizers.NFKC(), *lower]), pre_tokenizers.Metaspace()


def chunks_of(line: str, model: str) -> Sequence[str]:
    """Cut a line where no word of the model continues.

    WordPiece drops spaces; with the others, a space belongs to the word that follows, and BPE keeps
    runs of white space together.
    """
    if model == WORDPIECE:
        return line.split(" ")
    if _SPACES.search(line):
        return _CUT.split(line)
    first, *others = line.split(" ")
    return [first, *(f" {other}" for other in others)]
