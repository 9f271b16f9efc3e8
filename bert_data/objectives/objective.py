"""Objective: what a model learns of two segments, and all that other stages need of it."""

import dataclasses
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from bert_data.schema.fields import Field

Document = Sequence[Sequence[str]]
"""Sentences of tokens."""


Segments = tuple[list[str], list[str], bool | None]
"""The tokens of A and B, and whether B does not follow A; no B and None for a single segment."""


DrawSegments = Callable[[Sequence[Document], int, int, random.Random], Iterator[Segments]]
"""(all documents, the place of one, target length, random numbers) -> its segments, untruncated."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Objective:
    """A task about the segments of an instance.

    Attributes:
      draw_segments: its definition in plain Python; the kernel of `making_rows` follows it. None:
        records do not have it.
      num_segments: 2, or 1: no B.
      swaps: whether a B that does not follow A is what precedes it; else it is from elsewhere. A
        chunk of one sentence gets a B from elsewhere in any case.
      label: the field of a record with the answer; None: nothing is asked.
      task: the name of the model's output, loss and accuracy, if anything is asked.
      meanings: what the labels 0 and 1 say about A and B.
      short_meanings: the same in few words.
      ones: the records with label 1.
      ones_are_elsewhere: whether the B of all of them is from elsewhere.
      form: description of malformed records.
    """

    name: str
    draw_segments: DrawSegments | None = None
    num_segments: int = 2
    swaps: bool = False
    label: Field | None = None
    task: str | None = None
    meanings: tuple[str, str] = ("", "")
    short_meanings: tuple[str, str] = ("", "")
    ones: str = ""
    ones_are_elsewhere: bool = False
    form: str = "that are not [CLS] A [SEP] B [SEP] with segments 0 and 1"

    @property
    def num_special(self) -> int:
        """Number of special tokens of an instance: [CLS], and [SEP] behind each segment."""
        return 1 + self.num_segments

    @property
    def title(self) -> str:
        """The task's name for people."""
        return (self.task or "").replace("_", " ")


def gather_chunk(document: Document, start: int, target_length: int) -> Document:
    """Return the sentences from `start` that together reach the target length."""
    length = 0
    for end in range(start, len(document)):
        length += len(document[end])
        if length >= target_length:
            return document[start : end + 1]
    return document[start:]


def join(sentences: Iterable[Sequence[str]]) -> list[str]:
    """Return the tokens of sentences."""
    return [token for sentence in sentences for token in sentence]
