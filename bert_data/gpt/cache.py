"""Indices that are kept on disk, named by what they were made from.

    9e107d9d372bb6826bd81d3542a419d6-GPTDataset-train-document_index.npy
                                                     -sample_index.npy, -shuffle_index.npy
                                                     -checksums.json      of their blocks
                                                     -description.txt     JSON; its MD5 is the name

Names and arrays are Megatron-LM's; the description holds all that the arrays depend on, and nothing
else. Files appear by rename, the description last, so a set with its description is whole. Any
process may make it: one that finds another one making it makes the arrays for itself.
"""

import dataclasses
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError

IndexArrays = dict[str, NDArray[Any]]

_FORMAT_VERSION = 1
CHECKED_BLOCK_BYTES = 1 << 14
_SAMPLED_BLOCKS = 32
_CRC_DIGITS = 8
_AGAIN = "; remove it to make it again"


class IndexCache:
    """The place of one set of arrays.

    Attributes:
      maps: of the files of the loaded arrays.
    """

    def __init__(
        self,
        folder: str | None,
        kind: str,
        split: str,
        made_from: Mapping[str, Any],
        *,
        verify: bool = False,
    ) -> None:
        """Name the set.

        Args:
          kind: "GPTDataset" or "BlendedDataset".
          made_from: all that the arrays depend on; JSON.
          verify: whether loading checks every block of a file, or only some of them.
        """
        description = {"class": kind, "index_split": split, "format_version": _FORMAT_VERSION}
        self.folder = folder
        self.maps: tuple[storage.MappedFile, ...] = ()
        self._verify = verify
        self._text = json.dumps({**description, **made_from}, indent=4)
        digest = hashlib.md5(self._text.encode(), usedforsecurity=False).hexdigest()
        self._base = os.path.join(folder or "", f"{digest}-{kind}-{split}")

    def path(self, name: str) -> str:
        """Return the path of an array."""
        return f"{self._base}-{name}.npy"

    @property
    def _description_path(self) -> str:
        return f"{self._base}-description.txt"

    @property
    def _checksums_path(self) -> str:
        return f"{self._base}-checksums.json"

    def load_or_make(self, names: Sequence[str], make: Callable[[], IndexArrays]) -> IndexArrays:
        """Return the arrays, read-only and memory-mapped; make them if they are not on disk."""
        if self.folder is None:
            return _read_only(make())
        paths = [self.path(name) for name in names]
        files = [*paths, self._checksums_path, self._description_path]
        if all(map(storage.is_file, files)):
            storage.remove_left_overs(self._base)
            return self._load(names)
        try:
            with storage.OutputSet(self._base, files, reads=(), overwrite=True) as outputs:
                arrays = make()
                for name, path in zip(names, paths, strict=True):
                    with outputs.open(path) as file:
                        storage.save_array(file, arrays[name])
                sums = {
                    name: _describe(storage.map_file(outputs.partial(path)))
                    for name, path in zip(names, paths, strict=True)
                }
                with outputs.open(self._checksums_path) as file:
                    file.write(storage.json_text(sums).encode())
                with outputs.open(self._description_path) as file:
                    file.write(self._text.encode())
                outputs.commit(files[:-1], files[-1:])
        except BlockingIOError:
            logging.info("%s: another process keeps this index; made again in memory", self._base)
            return _read_only(make())
        return self._load(names)

    def _load(self, names: Sequence[str]) -> IndexArrays:
        path = self._description_path
        if storage.read_bytes(path) != self._text.encode():
            raise CorruptDataError(path, 0, f"does not match its name{_AGAIN}")
        try:
            sums = storage.read_json(self._checksums_path, dict[str, _Checksums])
            if set(names) - set(sums):
                raise CorruptDataError(self._checksums_path, 0, "arrays are missing")
            self.maps = tuple(self._map(name, sums[name]) for name in names)
            return {name: storage.load_array(self.path(name)) for name in names}
        except CorruptDataError as error:
            raise CorruptDataError(error.path, error.offset, f"{error.reason}{_AGAIN}") from error

    def _map(self, name: str, noted: "_Checksums") -> storage.MappedFile:
        """Map a file and compare checksums of all its blocks, or of some that lie evenly in it."""
        file = storage.map_file(self.path(name))
        if file.data.size != (num_bytes := noted.num_bytes):
            reason = f"has {file.data.size:,} bytes instead of {num_bytes:,}"
            raise CorruptDataError(file.path, file.data.size, reason)
        blocks = list(range(0, num_bytes, CHECKED_BLOCK_BYTES))
        if not self._verify and len(blocks) > _SAMPLED_BLOCKS:
            numbers = np.linspace(0, len(blocks) - 1, _SAMPLED_BLOCKS).astype(int)
            blocks = [blocks[number] for number in numbers.tolist()]
        sums, digits = noted.crc32, _CRC_DIGITS
        for start in blocks:
            place = start // CHECKED_BLOCK_BYTES * digits
            if _crc32(file, start) != sums[place : place + digits]:
                reason = f"its bytes do not have the CRC-32 in {self._checksums_path}"
                raise CorruptDataError(file.path, start, reason)
        return file


@dataclasses.dataclass(frozen=True)
class _Checksums:
    num_bytes: int
    crc32: str


def _describe(file: storage.MappedFile) -> dict[str, Any]:
    starts = range(0, file.data.size, CHECKED_BLOCK_BYTES)
    return {"num_bytes": file.data.size, "crc32": "".join(_crc32(file, start) for start in starts)}


def _crc32(file: storage.MappedFile, start: int) -> str:
    return f"{zlib.crc32(file.data[start : start + CHECKED_BLOCK_BYTES].data):0{_CRC_DIGITS}x}"


def check_array(path: str, array: NDArray[Any], dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """Refuse an array of the cache that is of another type or shape than it should be."""
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        difference = (
            f"an array of {array.dtype} {list(array.shape)} instead of {dtype} {list(shape)}"
        )
        raise CorruptDataError(path, 0, f"{difference}{_AGAIN}")


def _read_only(arrays: IndexArrays) -> IndexArrays:
    """Return arrays as read-only: for kernels those from disk then have the same type."""
    for array in arrays.values():
        array.flags.writeable = False
    return arrays
