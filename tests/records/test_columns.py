import numpy as np
import pytest
from hypothesis import given

from bert_data.records import columns as module
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import BOOL, INT32, Axis, Field, RecordKind, Role, labelled_records
from tests.records.batches import column_batches

IDS = Field("ids", INT32, Axis.TOKENS, Role.IDS)
FLAG = Field("flag", BOOL, Axis.INSTANCES, Role.LABELS)
KIND = RecordKind(name="small", fields=(IDS, FLAG))


def batch(ids: Column, flag: Column | None = None) -> ColumnBatch:
    flags = Column(np.zeros(2, np.bool_)) if flag is None else flag
    return ColumnBatch(kind=KIND, columns={"ids": ids, "flag": flags})


def ragged(values: list[int], splits: list[int]) -> Column:
    return Column(np.array(values, np.int32), np.array(splits, np.int32))


def test_lengths_come_from_splits_or_shapes() -> None:
    records = batch(ragged([7, 8, 9], [0, 1, 3]))
    assert records.num_records == 2
    assert records[IDS].lengths().tolist() == [1, 2]
    assert records[FLAG].lengths().tolist() == [1, 1]
    assert Column(np.zeros((2, 5))).lengths().tolist() == [5, 5]
    assert records.column_of(Axis.TOKENS) is records[IDS]
    assert records.num_tokens().tolist() == [1, 2]


def test_tokens_of_pairs_are_summed() -> None:
    kind = labelled_records(("text", "text_b"))
    columns = {}
    for field in kind.stored:
        values = np.zeros(4 if field.axis is Axis.TOKENS else 2, field.dtype)
        splits = np.array([0, 1, 4], np.int32) if field.axis is Axis.TOKENS else None
        columns[field.name] = Column(values, splits)
    assert ColumnBatch(kind=kind, columns=columns).num_tokens().tolist() == [2, 6]


@given(column_batches())
def test_any_batch_has_its_kinds_columns(records: ColumnBatch) -> None:
    for field in records.kind.stored:
        assert records[field].lengths().size == records.num_records
        assert records[field].lengths().sum() == records[field].values.size


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        (Column(np.zeros(2, np.int64)), "holds int64; it must hold int32"),
        (ragged([7], [0, 1]), "flag' has 2 records, not 1"),
        (ragged([7, 8], [0, 1, 3]), r"from and to \(.*0.*, .*3.*\); int32 from 0 to 2"),
        (ragged([7, 8], [1, 1, 2]), "int32 from 0 to 2"),
        (ragged([7, 8, 9], [0, 4, 3]), "must ascend"),
        (Column(np.zeros((2, 1, 1), np.int32)), "3 dimensions"),
        (Column(np.zeros(2, np.int32), np.array([0, 1, 2])), "splits int64"),
    ],
)
def test_columns_that_contradict_their_fields_are_refused(ids: Column, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        batch(ids)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ValueError, match="differ in flag, more"):
        ColumnBatch(
            kind=KIND, columns={"ids": ragged([], [0, 0]), "more": Column(np.zeros(1, np.bool_))}
        )


def test_more_values_than_splits_can_count_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_VALUES", 2)
    with pytest.raises(ValueError, match="3 values; at most 2 are allowed"):
        batch(ragged([7, 8, 9], [0, 1, 3]))
