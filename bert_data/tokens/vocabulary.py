r"""A checked vocabulary, with all that the stages need to know about it.

    [PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwalk\n##ing\n
      -> ids {"[PAD]": 0, ..., "walk": 5, "##ing": 6}, size 7, unk_id 1, ..., mask_id 4
         continuation [F F F F F F T], word_bits, word_ids [0 1 2 3 4 5 6], sha256 of the bytes

As in google-research/bert, lines end only at "\n"; every "\r" and all white space around a token
are dropped. A token that occurs twice has the id of its last line, and the position of its first in
the order of the dict. A file that cannot be used is refused; likely mistakes are warned of.
"""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.settings import check_settings
from bert_data.storage import Count, read_bytes
from bert_data.tokens.definition import CONTINUATION, BasicTokenizer, strip_accents, stripped_lines
from bert_data.tokens.tokenizer_config import PIECES
from bert_data.tokens.vocabulary_config import PADDING, REQUIRED_TOKENS, SPECIAL
from bert_data.tokens.word_bits import marked_continuations

_NUM_LINES_NAMED = 5
_MARK = "\ufeff"
_MARKED = "the byte order mark (BOM) before line 1 is part of its token; save the file without it"


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyNote:
    """The part of manifests and notes of stores that names the vocabulary.

    Attributes:
      size: number of ids.
      sha256: of the bytes of its file.
    """

    size: Count
    sha256: str

    def __post_init__(self) -> None:
        check_settings(self)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokenTable:
    """The tokens of a model and their ids.

    Attributes:
      sha256: hex digest of the file's bytes.
      tokens: the token of each id, in the file's order; a token may occur twice.
      ids: token -> id. The keys are in the order of their first lines; the id of a token that
        occurs twice is that of its last line.
      word_ids: int32 [len(ids)], the id of each key of `ids`, in order: 0, 1, ... unless the file
        has duplicates. Drawing a random word draws a position in this array, not an id.
      word_bits: uint16 [id_limit], which tokens are of one word, see `word_bits`.
      unk_id: id of [UNK], or -1 if there is none; likewise cls_id, sep_id, mask_id.
      pad_id: id of [PAD], or 0 if the vocabulary has none. (Records are always padded with 0.)
      special_ids: of tokens that stand for no text and are never predicted; [UNK] stands for words.
      do_lower_case: whether BERT's rules lower-case its text, as the file says; None: it says
        nothing, as a vocab.txt.
      words: what a word is, see `segmenting`.
    """

    path: str
    sha256: str
    tokens: Sequence[str]
    ids: dict[str, int]
    word_ids: NDArray[np.int32]
    word_bits: NDArray[np.uint16]
    unk_id: int
    cls_id: int
    sep_id: int
    mask_id: int
    pad_id: int
    special_ids: frozenset[int]
    do_lower_case: bool | None = None
    words: str = PIECES

    @property
    def continuation(self) -> NDArray[np.bool_]:
        """Bool [id_limit], whether a token may continue the word of the one before it."""
        return self.word_bits & 0xFF != 0

    @property
    def size(self) -> int:
        """Number of ids, which is the number of lines."""
        return len(self.tokens)

    @property
    def id_limit(self) -> int:
        """All ids of text and of stores are below it: `size`, or twice that, see `of_words`."""
        return self.word_bits.size

    @property
    def has_words(self) -> bool:
        """Whether ids say which tokens are of one word, see `of_words`."""
        return self.words != PIECES

    def of_words(self, words: str) -> "TokenTable":
        """Return the table for text whose spaces say what a word is, whatever its script.

        There, a token that continues the word of the one before it has its id plus `size`. So a
        word is known from the ids alone, as with "##", until `plain` makes BERT's ids of them. Ids
        of other text, where "##" says it, mean what they did.
        """
        if words == self.words:
            return self
        continuing = marked_continuations([True] * self.size)
        return dataclasses.replace(
            self,
            word_bits=np.concatenate([self.word_bits, continuing]),
            special_ids=self.special_ids | {number + self.size for number in self.special_ids},
            words=words,
        )

    def plain(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Return ids in [0, id_limit) as ids in [0, size), which models take."""
        return ids % ids.dtype.type(self.size) if self.has_words else ids

    @functools.cached_property
    def cased_tokens(self) -> Sequence[str]:
        """The tokens that text has as it is, but never when BERT lower-cases it."""
        keep_case = BasicTokenizer(do_lower_case=False)
        changed = (each for each in self.tokens if not each.isascii() or each != each.lower())
        return [token for token in changed if _needs_case(token, keep_case)]

    @property
    def note(self) -> VocabularyNote:
        """Its entry in manifests."""
        return VocabularyNote(size=self.size, sha256=self.sha256)

    def __repr__(self) -> str:
        return f"TokenTable(path={self.path!r}, size={self.size}, sha256={self.sha256[:12]!r})"


def load_vocabulary(path: str | os.PathLike[str]) -> TokenTable:
    """Read and check a vocabulary file.

    Returns:
      The vocabulary. A byte order mark, empty lines, duplicates and a [PAD] that is missing or not
      first are logged as a warning.

    Raises:
      ValueError: it is empty, not UTF-8 text, or without one of [UNK], [CLS], [SEP], [MASK].
    """
    path = os.fspath(path)
    content = read_bytes(path)
    tokens = _split_checked(path, content)
    ids = {token: number for number, token in enumerate(tokens)}
    missing = [token for token in REQUIRED_TOKENS if token not in ids]
    if missing:
        is_json = content.lstrip().startswith(b"{")
        hint = " (for a tokenizer.json, use `tokenizer_file`)" if is_json else ""
        hint = f" ({_MARKED})" if tokens[0].startswith(_MARK) else hint
        raise ValueError(
            f"vocabulary {path} has no {', '.join(missing)} in its {len(tokens)} "
            f"{'line' if len(tokens) == 1 else 'lines'}; each needs a line{hint}"
        )
    _warn_of_mistakes(path, tokens, ids)
    return make_vocabulary(path, hashlib.sha256(content).hexdigest(), tokens, ids)


def make_vocabulary(
    path: str,
    sha256: str,
    tokens: Sequence[str],
    ids: dict[str, int],
    do_lower_case: bool | None = None,
) -> TokenTable:
    """Return a WordPiece vocabulary with all `REQUIRED_TOKENS`; arguments as for `TokenTable`."""
    return TokenTable(
        path=path,
        sha256=sha256,
        tokens=tokens,
        ids=ids,
        word_ids=np.fromiter(ids.values(), np.int32, len(ids)),
        word_bits=marked_continuations([token.startswith(CONTINUATION) for token in tokens]),
        unk_id=ids["[UNK]"],
        cls_id=ids["[CLS]"],
        sep_id=ids["[SEP]"],
        mask_id=ids["[MASK]"],
        pad_id=ids.get(PADDING, 0),
        special_ids=frozenset(ids[token] for token in SPECIAL if token in ids) - {ids["[UNK]"]},
        do_lower_case=do_lower_case,
    )


def _needs_case(token: str, keep_case: BasicTokenizer) -> bool:
    """Whether a token is letters of one word, but not when lower-cased and without accents."""
    letters = token.removeprefix(CONTINUATION) or token
    lower = letters.lower()
    if letters == (lower if letters.isascii() else strip_accents(lower)):
        return False
    return keep_case.tokenize(letters) == [letters]


def _split_checked(path: str, content: bytes) -> list[str]:
    """Return the token of each line, or raise ValueError if this is not a vocabulary."""
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ValueError(f"vocabulary {path} is not text: line {line} has a NUL byte")
    try:
        tokens = stripped_lines(content)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"vocabulary {path} is not UTF-8: line {line} has an {error.reason}; if it is Latin-1:"
            " iconv -f LATIN1 -t UTF-8"
        ) from error
    if not any(tokens):
        raise ValueError(f"vocabulary {path} is empty; it must have a token on every line")
    return tokens


def _warn_of_mistakes(path: str, tokens: Sequence[str], ids: dict[str, int]) -> None:
    """Warn of what works, but is most likely a mistake in the file."""
    mistakes = [_MARKED] if tokens[0].startswith(_MARK) else []
    empty = [number for number, token in enumerate(tokens) if not token]
    if empty:
        mistakes.append(f"{_lines(empty)} empty")
    if len(ids) < len(tokens):
        doubled = [n for n, token in enumerate(tokens) if token and ids[token] != n]
        if doubled:
            mistakes.append(
                f"{_lines(doubled)} repeated further down, and the last line gives the id"
            )
    if ids.get(PADDING) != 0:
        place = f"on line {ids[PADDING] + 1}" if PADDING in ids else "missing"
        mistakes.append(f"{PADDING} is {place}, while records are padded with id 0 (line 1)")
    if mistakes:
        logging.warning("vocabulary %s: %s", path, "; ".join(mistakes))


def _lines(numbers: Sequence[int]) -> str:
    """Return "line 3 is" or "lines 3, 5, 8 are", counted from 1."""
    if len(numbers) == 1:
        return f"line {numbers[0] + 1} is"
    named = ", ".join(str(number + 1) for number in numbers[:_NUM_LINES_NAMED])
    more = len(numbers) - _NUM_LINES_NAMED
    return f"lines {named}{f' and {more} more' if more > 0 else ''} are"
