"""Streams of Arrow in a work folder: rows in, batches of bounded size out, compressed with LZ4.

with ArrowWriter(path, schema, max_rows=4096) as writer:
    writer.add_rows([("web/a:1", "One.", None)])        a value for each column
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import ipc

from bert_data.storage import open_scratch

_BATCH_CHARACTERS = 1 << 20


def make_column(values: Sequence[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    """Return a column of texts, numbers, truth values or lists of numbers; None is null.

    `pyarrow.array` would do, but wherever pandas is installed it imports pandas, in a third of a
    second.
    """
    is_valid = np.array([value is not None for value in values], np.bool_)
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        texts = [b"" if value is None else value.encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return _array(pyarrow.large_string(), is_valid, ends, b"".join(texts)).cast(kind)
    if pyarrow.types.is_list(kind):
        ends = np.cumsum([0, *(len(value or ()) for value in values)], dtype=np.int32)
        inner = make_column([each for value in values for each in value or ()], kind.value_type)
        buffers = [pyarrow.py_buffer(each) for each in (_bits(is_valid), ends)]
        return pyarrow.Array.from_buffers(kind, len(values), buffers, children=[inner])
    numbers = np.array([value or 0 for value in values], kind.to_pandas_dtype())
    return _array(kind, is_valid, _bits(numbers) if pyarrow.types.is_boolean(kind) else numbers)


def _array(kind: pyarrow.DataType, is_valid: NDArray[np.bool_], *data: Any) -> pyarrow.Array:
    buffers = [pyarrow.py_buffer(each) for each in (_bits(is_valid), *data)]
    return pyarrow.Array.from_buffers(kind, len(is_valid), buffers)


def _bits(truths: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(truths, bitorder="little")


class ArrowWriter:
    """Writes rows to a file."""

    def __init__(self, path: Path, schema: pyarrow.Schema, *, max_rows: int) -> None:
        """Create the file; a batch has about `max_rows` rows, or fewer if their texts are long."""
        self._schema, self._max_rows = schema, max_rows
        self._rows: list[Sequence[Any]] = []
        self._num_characters = 0
        self._file = open_scratch(path)
        options = ipc.IpcWriteOptions(compression="lz4")
        self._writer = ipc.new_stream(self._file, schema, options=options)

    def add_rows(self, rows: Iterable[Sequence[Any]], num_characters: int = 0) -> None:
        """Add rows, which stay in one batch, with texts of so many characters."""
        self._rows += rows
        self._num_characters += num_characters
        if len(self._rows) >= self._max_rows or self._num_characters >= _BATCH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = list(map(make_column, columns, self._schema.types))
        self._writer.write_batch(pyarrow.record_batch(arrays, schema=self._schema))
        self._rows, self._num_characters = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Write the rest, unless there was an error."""
        with self._file:
            if kind is None:
                if self._rows:
                    self._flush()
                self._writer.close()
