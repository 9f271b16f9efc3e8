"""A file in a manifest: its records, its size and its checksum.

ManifestFile(name="train-00000-of-00002", num_records=2, num_bytes=3, crc32c=0x364b3fb7)
"""

import dataclasses
import os
import reprlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO, Self

from bert_data.settings import check_settings
from bert_data.storage import Count
from bert_data.storage.changing import SummedFile

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

    @classmethod
    def of(cls, file: SummedFile, path: str, num_records: int) -> Self:
        """Describe a file that is written, with CRC-32C as its checksum."""
        return cls(
            name=os.path.basename(path),
            num_records=num_records,
            num_bytes=file.num_bytes,
            crc32c=file.checksum,
        )

    @property
    def sums(self) -> dict[str, tuple[int, int]]:
        """Size and CRC-32C of its bytes, under its name."""
        return {self.name: (self.num_bytes, self.crc32c)}
