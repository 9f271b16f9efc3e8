"""Indices that are kept on disk, named by what they were made from.

    9e107d9d372bb6826bd81d3542a419d6-GPTDataset-train-document_index.npy
                                                     -sample_index.npy, -shuffle_index.npy
                                                     -description.txt     JSON; its MD5 is the name

Names and arrays are Megatron-LM's; the description holds all that the arrays depend on, and nothing
else. Files appear by rename, the description last, so a set with its description is whole. Any
process may make it: one that finds another one making it makes the arrays for itself.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.storage import (
    OutputSet,
    is_file,
    load_array,
    read_bytes,
    remove_left_overs,
    save_array,
)

Arrays = dict[str, NDArray[Any]]

_FORMAT_VERSION = 1


class IndexCache:
    """The place of one set of arrays.

    Attributes:
      folder: where it is; None: it is not kept.
    """

    def __init__(self, folder: str | None, kind: str, split: str, made_from: Mapping[str, Any]):
        """Names the set.

        Args:
          folder: where it is kept, or None.
          kind: "GPTDataset" or "BlendedDataset".
          split: one of `SPLITS`.
          made_from: all that the arrays depend on; JSON.
        """
        description = {"class": kind, "index_split": split, "format_version": _FORMAT_VERSION}
        self.folder = folder
        self._text = json.dumps({**description, **made_from}, indent=4)
        digest = hashlib.md5(self._text.encode(), usedforsecurity=False).hexdigest()
        self._base = os.path.join(folder or "", f"{digest}-{kind}-{split}")

    def path(self, name: str) -> str:
        """Where an array is kept."""
        return f"{self._base}-{name}.npy"

    @property
    def _description_path(self) -> str:
        return f"{self._base}-description.txt"

    def load_or_make(self, names: Sequence[str], make: Callable[[], Arrays]) -> Arrays:
        """The arrays, read-only: memory-mapped from disk, where they are kept if they were not.

        Args:
          names: of the arrays.
          make: makes them.

        Raises:
          CorruptDataError: the files are not what was kept.
          OSError: they cannot be read or written.
        """
        if self.folder is None:
            return _read_only(make())
        paths = [self.path(name) for name in names]
        if all(map(is_file, [*paths, self._description_path])):
            remove_left_overs(self._base)
            return self._load(names)
        try:
            files = [*paths, self._description_path]
            with OutputSet(self._base, files, reads=(), overwrite=True) as outputs:
                arrays = make()
                for name in names:
                    self._write(outputs, name, arrays[name])
                with outputs.open(self._description_path) as file:
                    file.write(self._text.encode())
                outputs.commit(paths, [self._description_path])
        except BlockingIOError:
            logging.info("%s: another process is making this index; not kept twice", self._base)
            return _read_only(make())
        return self._load(names)

    def _write(self, outputs: OutputSet, name: str, array: NDArray[Any]) -> None:
        path = self.path(name)
        with outputs.open(path) as file:
            save_array(file, array)

    def _load(self, names: Sequence[str]) -> Arrays:
        path = self._description_path
        if read_bytes(path) != self._text.encode():
            reason = "not the description that its name stands for; remove it to make it again"
            raise CorruptDataError(path, 0, reason)
        return {name: _map_array(self.path(name)) for name in names}


def _map_array(path: str) -> NDArray[Any]:
    try:
        return load_array(path)
    except CorruptDataError as error:
        raise CorruptDataError(path, 0, f"{error.reason}; remove it to make it again") from error


def check_array(path: str, array: NDArray[Any], dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """Checks an array of the cache against what it should be.

    Raises:
      CorruptDataError: it is of another type or shape.
    """
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        difference = (
            f"an array of {array.dtype} {list(array.shape)} instead of {dtype} {list(shape)}"
        )
        raise CorruptDataError(path, 0, f"{difference}; remove it to make it again")


def _read_only(arrays: Arrays) -> Arrays:
    """Arrays that kernels take for the same type as those from disk."""
    for array in arrays.values():
        array.flags.writeable = False
    return arrays
