"""What happens when records are damaged: an error that says where, or a count and a warning.

    CorruptDataError: data/train-00001: record 17, byte offset 10404: the checksum of a record's ...

tf.data carries an error of ours as the text of one of its own; `explain` gives ours back.
"""

import re

from absl import logging

from bert_data.errors import CorruptDataError

_CORRUPT = re.compile(
    r"CorruptDataError: (?P<path>.+?): (?:record (?P<record>\d+), )?"
    r"byte offset (?P<offset>\d+): (?P<reason>.+)"
)
_REFUSED = re.compile(r"\bValueError: (?P<sentence>[^\n]+)")


class Damage:
    """Takes the damage that a pass over the shards finds.

    Attributes:
      num_records: damaged records left out so far; where the rest of a shard is lost and nothing
        tells how many records it held, it counts as one.
      num_places: how often damage was found.
    """

    def __init__(self, *, skip: bool) -> None:
        self._skip = skip
        self.num_records = self.num_places = 0
        self._first: CorruptDataError | None = None

    def found(self, error: CorruptDataError, num_records: int) -> None:
        """Raises the error, or counts `num_records` records as lost by it."""
        if not self._skip:
            raise error
        self.num_places += 1
        self.num_records += num_records
        self._first = self._first or error

    def tell(self) -> None:
        """Warns of what was left out, if anything was."""
        if self._first is not None:
            logging.warning(
                "left out %d damaged or missing record(s), found at %d place(s); the first: %s",
                self.num_records, self.num_places, self._first,
            )  # fmt: skip


def explain(error: Exception) -> Exception:
    """The reader's own error that one of tf.data carries, or that one itself."""
    match = _CORRUPT.search(str(error))
    if match is None:
        refused = _REFUSED.search(str(error))
        return ValueError(refused["sentence"].strip()) if refused else error
    record = None if match["record"] is None else int(match["record"])
    return CorruptDataError(match["path"], int(match["offset"]), match["reason"], record)
