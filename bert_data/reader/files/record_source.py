"""What reads records by number, and may read them ahead of a plan.

    with source.ahead(steps, of) as (records, steps):
        for step in steps:
            records.gather(of(step), damage)     once per step, in order

Records are numbered through all shards, in the order of the shards; -1 is an empty row.
"""

import abc
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.examples.block import Gathered
from bert_data.reader.files.corruption import Damage

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

        Raises:
          CorruptDataError: damage, unless it is counted.
        """

    @contextlib.contextmanager
    def ahead(self, steps: Iterator[Step], of: RecordsOf) -> Iterator[tuple[Self, Iterator[Step]]]:
        """Announce which records will be read, so that they may be fetched before.

        Args:
          steps: what will be done, in order.
          of: returns the records of a step.

        Yields:
          A source whose records are read once per step, and the steps. Local files need no
          announcement: the system reads ahead.
        """
        del of
        yield self, steps
