import numpy as np
import pytest

from bert_data.records import fields
from bert_data.records.fields import (
    Axis,
    Field,
    RecordKind,
    Role,
    labelled_records,
    masked_lm_records,
)


def ragged() -> RecordKind:
    return masked_lm_records("ragged", max_seq_length=8, max_predictions_per_seq=2)


def test_both_layouts_have_googles_names_and_only_ragged_ones_have_row_splits() -> None:
    reference = masked_lm_records("reference", max_seq_length=8, max_predictions_per_seq=2)
    names = {field.name for field in reference.fields}
    assert names == {
        "input_ids",
        "input_mask",
        "segment_ids",
        "masked_lm_positions",
        "masked_lm_ids",
        "masked_lm_weights",
        "next_sentence_labels",
    }
    assert {field.name for field in ragged().fields} == names | {"input_ids_splits_0"}
    assert reference.padded_to == {Axis.TOKENS: 8, Axis.PREDICTIONS: 2}
    assert not ragged().padded_to


def test_columns_hold_what_nothing_else_tells() -> None:
    assert [field.column for field in ragged().in_parquet().stored] == [
        "tokens",
        "segment_ids",
        "is_random_next",
        "masked_positions",
        "masked_labels",
    ]
    assert {field.name for field in ragged().fields if field.is_implied} == {
        "input_mask",
        "masked_lm_weights",
    }


def test_an_axis_and_a_role_find_a_field() -> None:
    kind = ragged()
    assert kind.find(Axis.PREDICTIONS, Role.IDS) is fields.MASKED_LM_IDS
    assert kind.find(Axis.INSTANCES, Role.LABELS) is fields.NEXT_SENTENCE_LABELS
    without = masked_lm_records(
        "ragged", max_seq_length=8, max_predictions_per_seq=2, sentence_field=None
    )
    assert without.find(Axis.INSTANCES, Role.LABELS) is None
    assert len({(f.axis, f.role) for f in (*kind.fields, *fields.MADE_BY_READER)}) == 12


def test_tensors_hold_small_numbers_as_int32() -> None:
    assert {field.tensor_dtype.name for field in ragged().fields} == {"int32", "float32"}
    assert labelled_records().fields[0].tensor_dtype == np.int64
    assert fields.MASKED_LM_WEIGHTS.feature_kind == "float_list"
    assert labelled_records().fields[1].feature_kind == "bytes_list"


def test_labelled_texts_have_splits_for_each_ragged_dimension() -> None:
    names = [field.name for field in labelled_records(("summary",), "genre").fields]
    tokens = [f"summary_tokens_{what}" for what in ("len", "values", "splits_0", "splits_1")]
    assert names == ["genre", "summary", *tokens]
    assert len(labelled_records(fields.TEXTS).fields) == 11


def test_kinds_refuse_what_cannot_be_read() -> None:
    one = Field("a", fields.INT32, Axis.TOKENS, Role.IDS)
    implied = Field("b", fields.INT32, Axis.PREDICTIONS, Role.WEIGHTS, is_implied=True)
    with pytest.raises(ValueError, match="each may appear only once"):
        RecordKind(name="twice", fields=(one, one))
    with pytest.raises(ValueError, match="shows how many predictions there are"):
        RecordKind(name="lost", fields=(one, implied))
    with pytest.raises(ValueError, match="float64"):
        Field("c", np.dtype(np.float64), Axis.TOKENS, Role.IDS)
    with pytest.raises(ValueError, match="'round'; it must be one of ragged, reference"):
        masked_lm_records("round", max_seq_length=8, max_predictions_per_seq=2)
