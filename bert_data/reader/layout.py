"""The memory of batches: sections of features of the same shape, one after the other.

    tokens       input_ids, input_mask, segment_ids     int32[3, rows, width]
    predictions  masked_lm_positions, _ids, _weights    int32[3, rows, predictions]
    instances    next_sentence_labels                   int32[1, rows, instances of a row]

Several batches share an array, because handing over from Python to tf.data costs per call; a table
says where each section of each batch begins. Consecutive batches of the same shape are a run, whose
sections have one more axis, int32[3, batches, rows, width], so that TensorFlow slices a run instead
of computing each batch's place. Where most runs would have one batch, each batch is alone, a run of
its own, int32[3, rows, width]. Sections of runs are aligned so that TensorFlow takes the memory
over instead of copying it. Floats are stored as their bits.

Memory that is new to a process is mapped page by page at the first touch, which takes longer than
everything the reader does with it. So `new_bytes` and `new_file` use the memory of an array again
when neither the array nor a view of it is left, including those that TensorFlow holds. A forked
process starts with none to reuse.
"""

import collections
import mmap
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bert_data.records import fields
from bert_data.records.fields import Axis, Field, RecordKind
from bert_data.storage.descriptors import FileInMemory

ENTRY_COLUMNS = 5
BEGIN, STRIDE, NUM_FEATURES, ROWS, COLUMNS = range(ENTRY_COLUMNS)
RUN_COLUMNS, BATCH_COLUMNS = 6, 5

BatchLayout = tuple[tuple[Field, ...], ...]
"""The fields of each section."""

StaticShape = tuple[int | None, ...]
"""Rows of a batch and columns of each section; None for what differs from batch to batch."""


class Bounds(NamedTuple):
    """What no record of some batches exceeds; None where only the records tell.

    Attributes:
      max_seq_length: tokens.
      vocab_size: ids are below it.
    """

    max_seq_length: int | None
    vocab_size: int | None


BatchArrays = dict[str, NDArray[np.int32] | NDArray[np.float32]]

ALIGNMENT_BYTES = 64  # which TensorFlow requires of memory that it takes over instead of copying
_NUMBER_BYTES = 4
_UNIT = ALIGNMENT_BYTES // _NUMBER_BYTES
AXES = TOKENS, PREDICTIONS, INSTANCES = (Axis.TOKENS, Axis.PREDICTIONS, Axis.INSTANCES)
"""Those of the sections of masked LM batches, in order."""

NUMBERED = fields.MASKED_LM_FIELDS
"""The fields that kernels know by their numbers, which are the same for all kinds of records."""

PLANNED = (fields.NEXT_SENTENCE_WEIGHTS,)
"""Fields that the reader adds where a row is one instance or empty."""

PACKED = fields.MADE_BY_READER
"""Fields that the reader adds where a row is any number of instances side by side."""


def stored_fields(of_records: Iterable[Field]) -> tuple[Field, ...]:
    """Return the fields that records and batches hold, in the order of their numbers."""
    members = tuple(of_records)
    others = [field for field in members if field not in (*NUMBERED, *fields.MADE_BY_READER)]
    ordered = (field for axis in AXES for field in others if field.axis is axis)
    return *(field for field in NUMBERED if field in members), *ordered


def layout_of(kind: RecordKind, *added: Field) -> BatchLayout:
    """Return the sections of batches of masked LM records.

    Args:
      kind: of the records. Without a field of instances, such as a label, nothing is added for
        them.
    """
    stored = stored_fields(kind.fields)
    for field in stored:
        if field.tensor_dtype not in (fields.INT32, fields.FLOAT32):
            raise ValueError(
                f"field {field.name!r} holds {field.dtype}; int32, smaller integers and float32 are"
                " allowed in batches"
            )
    sections = [tuple(field for field in stored if field.axis is axis) for axis in AXES]
    return tuple(
        (*section, *(field for field in added if field.axis is axis)) if section else ()
        for axis, section in zip(AXES, sections, strict=True)
    )


def is_packed(layout: BatchLayout) -> bool:
    """Return whether a row may hold several instances."""
    return fields.INSTANCE_IDS in layout[0]


class BatchGroup(NamedTuple):
    """Batches side by side in one array.

    Attributes:
      table: int32[batches, 5 * sections], where they are, see `make_table`.
    """

    words: NDArray[np.int32]
    table: NDArray[np.int32]


class GroupSource(Protocol):
    """A source of batches.

    Attributes:
      shapes_differ: whether those of consecutive batches mostly do; then all are `alone`, see
        `make_table`.
    """

    layout: BatchLayout
    shapes_differ: bool

    @property
    def static_shape(self) -> StaticShape:
        """The dimensions that all batches share."""

    @property
    def num_batches(self) -> int:
        """Number of batches, ENDLESS, or UNKNOWN if only reading would tell."""

    def groups(self) -> Iterator[BatchGroup]:
        """Yield the batches, several at a time; the same ones at each call."""


class Shape(NamedTuple):
    """The size of a masked LM batch."""

    rows: int
    width: int
    predictions: int
    instances: int = 1


def is_float(field: Field) -> bool:
    """Return whether a feature is float32 in batches; the others are int32."""
    return field.tensor_dtype == fields.FLOAT32


def make_table(
    shapes: Sequence[Sequence[int]] | NDArray[np.integer],
    layout: BatchLayout,
    *,
    alone: bool = False,
) -> tuple[NDArray[np.int32], int]:
    """Lay batches out one after the other.

    Args:
      shapes: int[batches, 1 + sections], rows of each batch and columns of each section.
      alone: whether each batch is a run of its own.

    Returns:
      int32[batches, 5 * sections], of each batch and section the place of its first feature in the
      words, how far on the next feature begins, and the shape: features, rows, columns; and the
      number of words of all batches.
    """
    num_features = [len(section) for section in layout]
    numbers = np.asarray(shapes, np.int64).reshape(-1, 1 + len(layout))
    table = np.empty((len(numbers), len(layout), ENTRY_COLUMNS), np.int64)
    table[:, :, NUM_FEATURES] = num_features
    table[:, :, ROWS] = numbers[:, :1]
    table[:, :, COLUMNS] = numbers[:, 1:]
    starts, counts = _runs(numbers, alone=alone)
    sizes = numbers[:, :1] * numbers[:, 1:]
    strides = sizes[starts] * counts[:, np.newaxis]
    ends = (-(-strides * num_features // _UNIT) * _UNIT).cumsum().reshape(strides.shape)
    begins = np.concatenate(([0], ends.ravel()[:-1])).reshape(strides.shape)
    numbers_in_run = np.arange(len(numbers)) - starts.repeat(counts)
    table[:, :, STRIDE] = strides.repeat(counts, axis=0)
    table[:, :, BEGIN] = begins.repeat(counts, axis=0) + numbers_in_run[:, np.newaxis] * sizes
    return table.reshape(len(table), -1).astype(np.int32), int(ends[-1, -1])


def _runs(
    shapes: NDArray[np.integer], *, alone: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where runs of equal shapes (rows of an array) begin, and how long they are."""
    if alone:
        return np.arange(len(shapes)), np.ones(len(shapes), np.int64)
    changes = (shapes[1:] != shapes[:-1]).any(axis=1)
    starts = np.flatnonzero(np.concatenate(([True], changes)))
    return starts, np.diff(starts, append=len(shapes))


def runs_of(
    table: NDArray[np.int32], layout: BatchLayout, *, alone: bool = False
) -> NDArray[np.int32]:
    """Return the runs of a table of batches; `alone` as for `make_table`.

    Returns:
      int32[runs, 6 * sections], of each run and section the place in the words, the size in words,
      and the shape: features, batches, rows, columns. Batches that are alone have no axis, so that
      these are int32[batches, 5 * sections].
    """
    entries = table.reshape(len(table), len(layout), ENTRY_COLUMNS)
    starts, counts = _runs(entries[:, :, ROWS:].reshape(len(table), -1), alone=alone)
    runs = np.empty((len(starts), len(layout), RUN_COLUMNS), np.int32)
    runs[:, :, 0] = entries[starts, :, BEGIN]
    runs[:, :, 1] = entries[starts, :, STRIDE] * entries[starts, :, NUM_FEATURES]
    runs[:, :, 2] = entries[starts, :, NUM_FEATURES]
    runs[:, :, 3] = counts[:, np.newaxis]
    runs[:, :, 4:] = entries[starts, :, ROWS:]
    if alone:
        runs = np.delete(runs, 3, axis=2)
    return runs.reshape(len(runs), -1)


def words_of_batch(shape: Sequence[int], layout: BatchLayout) -> int:
    """Return the most words that a batch takes if no dimension exceeds this shape."""
    rows, *columns = shape
    per_row = sum(len(section) * count for section, count in zip(layout, columns, strict=True))
    return rows * per_row + len(layout) * _UNIT


def new_buffer(num_words: int) -> NDArray[np.int32]:
    """Return int32[num_words], not initialised, aligned as TensorFlow requires."""
    raw = new_bytes(num_words * _NUMBER_BYTES + ALIGNMENT_BYTES)
    skip = -raw.ctypes.data % ALIGNMENT_BYTES
    return raw[skip : skip + num_words * _NUMBER_BYTES].view(np.int32)


def arrays_of(group: BatchGroup, layout: BatchLayout) -> Iterator[BatchArrays]:
    """Return the batches of a group by the names of their features, as views of its words."""
    names = [[(field.name, is_float(field)) for field in section] for section in layout]
    words, floats = group.words, group.words.view(np.float32)
    for entries in group.table.reshape(-1, len(layout), ENTRY_COLUMNS).tolist():
        batch: BatchArrays = {}
        for section, (begin, stride, _, rows, columns) in zip(names, entries, strict=True):
            for name, holds_floats in section:
                values = floats if holds_floats else words
                batch[name] = values[begin : begin + rows * columns].reshape(rows, columns)
                begin += stride
        yield batch


_SMALL_BYTES = 1 << 16  # below, NumPy's own allocation is as good
_MAX_KEPT_BYTES = 64 << 20
_FILE_BYTES = 4 << 20  # files of one size are few, and take only the memory that is written


class _PrivateMemory:
    """Memory of no file."""

    descriptor = -1

    def __init__(self, size: int) -> None:
        self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


_Block = _PrivateMemory | FileInMemory


class _FreeBlocks:
    """Memory that no array uses, by its size, which is a power of two."""

    def __init__(self, kind: Callable[[int], _Block]) -> None:
        self._kind = kind
        self._blocks: dict[int, list[_Block]] = collections.defaultdict(list)
        self._num_bytes = 0
        # A reference must outlive its array for its callback to be called.
        self._references: dict[int, weakref.ref] = {}

    def take(self, num_bytes: int) -> tuple[NDArray[np.uint8], int]:
        """Return an array, and the descriptor of its file, if it is one."""
        size, process = 1 << (num_bytes - 1).bit_length(), os.getpid()
        try:
            block = self._blocks[size].pop()
            self._num_bytes -= size
        except IndexError:
            block = self._kind(size)
        # Views of `whole` refer to it and not to the block, so it lives as long as any of them.
        whole = np.frombuffer(block.memory, np.uint8)

        def give_back(_: weakref.ref) -> None:
            del self._references[id(block)]
            if self._num_bytes + size <= _MAX_KEPT_BYTES and process == os.getpid():
                self._num_bytes += size
                self._blocks[size].append(block)

        self._references[id(block)] = weakref.ref(whole, give_back)
        return whole[:num_bytes], block.descriptor

    def forget(self) -> None:
        """Release the memory that no array uses."""
        self._blocks.clear()
        self._num_bytes = 0


_kept, _kept_files = _FreeBlocks(_PrivateMemory), _FreeBlocks(FileInMemory)
os.register_at_fork(after_in_child=_kept.forget)
os.register_at_fork(after_in_child=_kept_files.forget)


def new_bytes(num_bytes: int) -> NDArray[np.uint8]:
    """Return uint8[num_bytes], not initialised; large ones are aligned to a page."""
    if num_bytes < _SMALL_BYTES:
        return np.empty(num_bytes, np.uint8)
    return _kept.take(num_bytes)[0]


def new_file(num_bytes: int) -> tuple[NDArray[np.uint8], int]:
    """Return uint8[num_bytes], not initialised, and the descriptor of a file with this content.

    What the system writes to the file appears in the array.
    """
    whole, descriptor = _kept_files.take(max(num_bytes, _FILE_BYTES))
    return whole[:num_bytes], descriptor
