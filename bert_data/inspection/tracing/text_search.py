"""Find a text in token stores by its tokens, without the text that they were made from."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.text.documents import DOCUMENT, TextDocument
from bert_data.text.sentences import DEFAULT_LANGUAGE
from bert_data.tokens.store_files import read_notes
from bert_data.tokens.tokenizer_file import read_tokenizer

_TOKENS_AT_A_TIME = 1 << 22


@dataclasses.dataclass(frozen=True)
class Phrase:
    """A text as tokens, of each way in which a document may hold it."""

    ways: tuple[NDArray[np.int64], ...]

    def find(self, ids: NDArray[Any]) -> Iterator[range]:
        """Yield the tokens of a store that hold the text, in ascending order for each way."""
        for way in filter(len, self.ways):
            for start in range(0, ids.size - way.size + 1, _TOKENS_AT_A_TIME):
                part = ids[start : start + _TOKENS_AT_A_TIME + way.size - 1]
                places = np.flatnonzero(part[: part.size - way.size + 1] == way[0])
                for n, token in enumerate(way.tolist()[1:], 1):
                    places = places[part[places + n] == token]
                yield from (range(start + n, start + n + way.size) for n in places.tolist())


def phrase_of(
    text: str, vocabulary: str, made: Sequence[tuple[str, str | None, bool | None]]
) -> Phrase:
    """Return a text as its tokenizer writes it, at the start of a text and within one.

    Args:
      made: of each store or set, its name, the SHA-256 of its vocabulary, and its do_lower_case;
        None: not known.
    """
    cases = {lowers for _, sha256, lowers in made if sha256 is not None}
    if len(cases) > 1:
        raise ValueError("the stores differ in do_lower_case; search each by itself")
    tokenizer = read_tokenizer(vocabulary, do_lower_case=(cases or {True}).pop() is not False)
    for name, sha256, _ in made:
        if sha256 not in (None, tokenizer.sha256):
            raise ValueError(f"{name} was made with another vocabulary than {vocabulary}")
    ways: dict[bytes, NDArray[np.int64]] = {}
    for written in (text.strip(), f" {text.strip()}"):
        document = TextDocument(1, written)
        tokens = tokenizer.tokenize_documents([document], DOCUMENT, DEFAULT_LANGUAGE)
        way = np.array(tokens.ids, np.int64)
        if way.size:
            ways[way.tobytes()] = way
    if not ways:
        raise ValueError(f"text is {text!r}, of which the vocabulary has no token")
    return Phrase(tuple(ways.values()))


def phrase_in_stores(text: str, vocabulary: str, prefixes: Sequence[str]) -> Phrase:
    """Return a text as the tokenizer of stores writes it."""
    made: list[tuple[str, str | None, bool | None]] = []
    for prefix in prefixes:
        notes = read_notes(prefix)
        told = (notes.vocabulary.sha256, notes.settings["do_lower_case"]) if notes else (None, None)
        made.append((prefix, *told))
    return phrase_of(text, vocabulary, made)
