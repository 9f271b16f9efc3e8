"""Sources of records by number, which may read ahead of a plan, and damage that they meet.

    for step, records in source.follow(steps, of):
        records.gather(of(step), damage)

Records are numbered through all shards, in the order of the shards; -1 is an empty row. tf.data
reports our errors as text inside its own; `explain` recovers them.
"""

import abc
import re
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.progress import how_many
from bert_data.reader.examples.block import Gathered

_CORRUPT = re.compile(
    r"CorruptDataError: (?P<path>.+?): (?:record (?P<record>\d+), )?"
    r"byte offset (?P<offset>\d+): (?P<reason>.+)"
)
_REFUSED = re.compile(r"\bValueError: (?P<sentence>[^\n]+)")
_FAILED = re.compile(r"\b\w+Error: \[Errno (?P<number>\d+)\] (?P<reason>.+): '(?P<path>[^'\n]+)'")


class Damage:
    """The damage found in a pass over the shards: raised, or counted.

    Attributes:
      num_records: damaged records left out so far; if the rest of a shard is lost and it is unknown
        how many records it held, that counts as one.
    """

    def __init__(self, *, skip: bool) -> None:
        self._skip = skip
        self.num_records = self.num_places = 0
        self._first: CorruptDataError | None = None

    def found(self, error: CorruptDataError, num_records: int) -> None:
        """Raise the error, or count `num_records` records as lost to it."""
        if not self._skip:
            raise error
        self.num_places += 1
        self.num_records += num_records
        self._first = self._first or error

    def tell(self) -> None:
        """Log a warning about what was left out, if anything was."""
        if self._first is not None:
            logging.warning(
                "left out %s, in %s; the first: %s",
                how_many(self.num_records, "damaged or missing record"),
                how_many(self.num_places, "place"), self._first,
            )  # fmt: skip


def explain(error: Exception) -> Exception:
    """Return the reader's own error that an error of tf.data carries, or else that error itself."""
    match = _CORRUPT.search(str(error))
    if match is None and (failed := _FAILED.search(str(error))) is not None:
        return OSError(int(failed["number"]), failed["reason"], failed["path"])
    if match is None:
        refused = _REFUSED.search(str(error))
        return ValueError(refused["sentence"].strip()) if refused else error
    record = None if match["record"] is None else int(match["record"])
    return CorruptDataError(match["path"], int(match["offset"]), match["reason"], record)


Step = TypeVar("Step")
RecordsOf = Callable[[Any], NDArray[np.integer]]
"""Returns int[any], the records of a step, or -1."""


class RecordSource(abc.ABC):
    """Records by number.

    Attributes:
      num_tokens: uint[records], tokens of each.
    """

    num_tokens: NDArray[np.unsignedinteger]

    @abc.abstractmethod
    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records.

        Args:
          records: int[any], numbers of records, or -1.
        """

    def follow(self, steps: Iterator[Step], of: RecordsOf) -> Iterator[tuple[Step, Self]]:
        """Yield each step with a source from which to gather its records, before the next one.

        They may have been fetched ahead. Local files need that not: the system reads ahead.
        """
        del of
        for step in steps:
            yield step, self
