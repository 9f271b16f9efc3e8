"""Report damaged records: by an error that says where, or by a count and a warning.

    CorruptDataError: data/train-00001: record 17, byte offset 10404: the checksum of a record's ...

tf.data reports our errors as text inside its own; `explain` recovers them.
"""

import re

from absl import logging

from bert_data.errors import CorruptDataError

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
      num_places: number of damaged places.
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
                "left out %d damaged or missing record(s), in %d place(s); the first: %s",
                self.num_records, self.num_places, self._first,
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
