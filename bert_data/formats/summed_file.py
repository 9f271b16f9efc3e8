"""A file being written, and what a manifest says about it: its size and its checksum.

file = SummedFile(raw, "train-00000-of-00002")
file.write(b"abc"); file.describe(num_records=1)  ->  num_bytes 3, the CRC-32C of abc
"""

import dataclasses
import os
import reprlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO, Any

from bert_data.kernels.crc32c import crc32c
from bert_data.settings import check_settings
from bert_data.storage import Count

OpenFile = Callable[[str], AbstractContextManager[IO[bytes]]]
"""Opens a file for writing, given its final path."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManifestFile:
    """A shard: its name beside the manifest, its records, and the size and CRC-32C of its bytes."""

    name: str
    num_records: Count
    num_bytes: Count
    crc32c: Count

    def __post_init__(self) -> None:
        check_settings(self)
        if os.path.basename(self.name) != self.name or not 0 < len(self.name.encode()) <= 255:
            raise ValueError(f"{reprlib.repr(self.name)} is not the name of a file beside it")

    @property
    def sums(self) -> dict[str, tuple[int, int]]:
        """Size and CRC-32C of its bytes, under its name."""
        return {self.name: (self.num_bytes, self.crc32c)}


class SummedFile:
    """Counts and sums the bytes that are written; pyarrow treats it as a Python file."""

    closed = False

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file: IO[bytes] | None = file
        self._name = os.path.basename(path)
        self._crc = self._num_bytes = 0

    def write(self, data: Any) -> int:
        """Write bytes, or the memory of an object; return how many."""
        view = memoryview(data)
        if self._file is not None:
            self._crc = crc32c(view, self._crc)
            self._num_bytes += view.nbytes
            self._file.write(view)
        return view.nbytes

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._num_bytes

    def flush(self) -> None:
        """Write what is buffered."""
        if self._file is not None:
            self._file.flush()

    def give_up(self) -> None:
        """Drop whatever is written from now on."""
        self._file = None

    def describe(self, num_records: int) -> ManifestFile:
        """Return what the manifest says about the file."""
        return ManifestFile(
            name=self._name, num_records=num_records, num_bytes=self._num_bytes, crc32c=self._crc
        )
