"""Batches of columns, which objectives make, formats write and readers read.

    records  [101 7592 102], random next     input_ids             [101 7592 102 101 2023 2003 102]
             [101 2023 2003 102]                       splits      [0 3 7]
                                             next_sentence_labels  [True False]       no splits

A ragged column has the values of all records, end to end, and the row splits that divide them;
Arrow stores lists in the same way, so its arrays are views of these. A column with the same number
of values in every record is a plain array [records] or [records, values].
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.records.fields import Axis, Field, RecordKind, Role

MAX_VALUES = 2**31 - 1
"""Values that a column of one batch holds at most, so that row splits fit 32 bits."""


class Column(NamedTuple):
    """The values of one field.

    Attributes:
      values: of the field's dtype, [values] with splits, otherwise [records] or [records, values of
        each]. Bytes are objects.
      splits: int32[records + 1], ascending from 0: record i has values[splits[i] : splits[i + 1]].
        None if all records have the same number of values.
    """

    values: NDArray[Any]
    splits: NDArray[np.int32] | None = None

    @property
    def num_records(self) -> int:
        """Number of records."""
        return len(self.values) if self.splits is None else self.splits.size - 1

    def lengths(self) -> NDArray[np.int32]:
        """Return int32[records], the number of values of each record."""
        if self.splits is not None:
            return np.diff(self.splits)
        width = self.values.shape[1] if self.values.ndim > 1 else 1
        return np.full(len(self.values), width, np.int32)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ColumnBatch:
    """A number of records as columns; checked when it is created.

    Attributes:
      columns: by the names of the kind's stored fields, one each.
    """

    kind: RecordKind
    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        names = {field.name for field in self.kind.stored}
        if self.columns.keys() != names:
            differing = ", ".join(sorted(self.columns.keys() ^ names))
            raise ValueError(f"columns and fields of {self.kind.name!r} differ in {differing}")
        num_records, good = self.num_records, None
        for field in self.kind.stored:
            column = self.columns[field.name]
            _check_column(field, column, num_records)
            if column.splits is not None and column.splits is not good:
                good = column.splits  # columns of one axis share them
                if (good[1:] < good[:-1]).any():
                    raise ValueError(f"the splits of column {field.name!r} must ascend")

    @property
    def num_records(self) -> int:
        """Number of records."""
        return self.columns[self.kind.stored[0].name].num_records

    def __getitem__(self, field: Field) -> Column:
        return self.columns[field.name]

    def column_of(self, axis: Axis) -> Column:
        """Return a column that shows how many values each record has on an axis."""
        return next(self[field] for field in self.kind.stored if field.axis is axis)

    def num_tokens(self) -> NDArray[np.uint32]:
        """Return uint32[records], the number of tokens of each record in all its texts."""
        counts = np.zeros(self.num_records, np.uint32)
        for field in self.kind.stored:
            if field.axis is Axis.TOKENS and field.role is Role.IDS:
                counts += self[field].lengths().astype(np.uint32)
        return counts


def _check_column(field: Field, column: Column, num_records: int) -> None:
    values, splits = column
    if values.dtype != field.dtype:
        raise ValueError(f"column {field.name!r} holds {values.dtype}; it must hold {field.dtype}")
    if values.size > MAX_VALUES:
        raise ValueError(
            f"column {field.name!r} has {values.size:,} values; at most {MAX_VALUES:,} are allowed"
        )
    if column.num_records != num_records:
        raise ValueError(
            f"column {field.name!r} has {column.num_records:,} records, not {num_records:,}"
        )
    if splits is None:
        if values.ndim not in (1, 2):
            raise ValueError(
                f"column {field.name!r} has {values.ndim} dimensions; it must have 1 or 2"
            )
        return
    ends = (splits[0], splits[-1]) if splits.size else None
    if splits.dtype != np.int32 or values.ndim != 1 or ends != (0, values.size):
        raise ValueError(
            f"column {field.name!r} has splits {splits.dtype}[{splits.size}] from and to {ends};"
            f" int32 from 0 to {values.size} is needed"
        )
