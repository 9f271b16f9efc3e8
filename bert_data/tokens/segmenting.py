"""What a word is: WordPiece's "##", the spaces of a text, or Chinese words that jieba finds.

    pieces   使用语言模型     ->  使 | 用 | 语 | 言 | 模 | 型     each character is a word
    spaces   使用 语言 模型   ->  使 用 | 语 言 | 模 型           as the text is segmented
    jieba    使用语言模型     ->  使 用 | 语 言 | 模 型           "使用 语言 模型" first

Tokens are the same in each case, as BERT drops these spaces. The rule is that of whole word masking
for Chinese (Cui et al. 2019, arXiv 1906.08101).
"""

import itertools
from collections.abc import Callable

from bert_data.packages import load_package
from bert_data.tokens.definition import is_ideograph, is_punctuation
from bert_data.tokens.tokenizer_config import JIEBA

SegmentLines = Callable[[bytes], bytes]
"""Returns lines with spaces between their words."""


def find_segmenter(words: str) -> SegmentLines | None:
    """Return what puts spaces between words of a text; None: they are there."""
    if words != JIEBA:
        return None
    load_package("rjieba", f"`words={JIEBA}`", extra=JIEBA)
    return segment_with_jieba


def segment_with_jieba(data: bytes) -> bytes:
    """Put spaces between the Chinese words of lines of UTF-8; other lines stay as they are."""
    return b"\n".join(map(_segment_line, bytes(data).split(b"\n")))


def _segment_line(line: bytes) -> bytes:
    import rjieba

    if line.isascii():
        return line
    try:
        text = line.decode()
    except UnicodeDecodeError:  # the tokenizer names it
        return line
    words = rjieba.cut(text)
    parts = words[:1]
    for before, after in itertools.pairwise(words):
        parts += [" ", after] if _is_cut(before[-1], after[0], text) else [after]
    return "".join(parts).encode()


def _is_cut(before: str, after: str, text: str) -> bool:
    """Whether BERT cuts between two characters, too, so that a space there changes no token."""
    if is_ideograph(before) or is_ideograph(after):
        return True
    # "[SEP]" may be a token, and a sigma depends on what is beyond punctuation.
    if {before, after} & {"[", "]"} or "\u03a3" in text:
        return False
    return is_punctuation(before) or is_punctuation(after)
