"""The fields of every kind of record, each described once.

    Field("masked_lm_ids", int32, axis PREDICTIONS, role IDS, column "masked_labels")

      Example    masked_lm_ids: int64_list, one number for each prediction
      Parquet    masked_labels: list<int32>
      tensor     masked_lm_ids: int32[rows, predictions], padded with 0
      heads      the ids to predict are the field of PREDICTIONS whose role is IDS

The encoders, the decoders, the Parquet columns, the tensors of a batch and the tables in the
documentation are all derived from these tables. A new field is a `Field` here, listed in the kinds
of records that hold it.
"""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_data.checks import check_choice
from bert_data.records.choices import (
    GOOGLE_NAMES,
    LABEL,
    LAYOUTS,
    RAGGED,
    REFERENCE,
    TEXTS,
    V2_NAMES,
)
from bert_data.records.ragged_arrays import splits_name, values_name

BOOL, INT8, INT32, INT64, FLOAT32, BYTES = DTYPES = tuple(
    map(np.dtype, ("bool", "int8", "int32", "int64", "float32", "object"))
)
"""Types of values; bytes are objects."""


class Axis(enum.StrEnum):
    """The axis of a field: its values belong to tokens, words and so on."""

    TOKENS = "tokens"
    PREDICTIONS = "predictions"
    INSTANCES = "instances"  # a record is one instance; a packed row of a batch holds several
    WORDS = "words"  # row splits only: one value more than there are words
    SENTENCES = "sentences"  # likewise


class Role(enum.StrEnum):
    """The meaning of a field's values; with the axis it decides which code uses them."""

    IDS = "ids"  # of the vocabulary, so below its size
    POSITIONS = "positions"  # among the tokens of the record, or of the packed row
    WEIGHTS = "weights"  # 1 for real values, 0 for padding and for what does not count
    SEGMENTS = "segments"
    INSTANCES = "instances"  # number of the instance in a packed row, from 1; 0 is padding
    LABELS = "labels"
    SPLITS = "splits"  # row splits, from 0
    LENGTHS = "lengths"
    TEXT = "text"


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a record.

    Attributes:
      name: of the Example's feature, and of the tensor.
      dtype: of its values in a column batch and in Parquet; one of `DTYPES`.
      column: its name in Parquet; None if Parquet omits it, because it follows from the other
        columns or the vocabulary.
      column_padding: what follows a row's values where rows of Parquet are padded.
      is_implied: whether all its values are 1 where there is no padding, so that no column stores
        them.
      v2_name: of the Example's feature with `V2_NAMES`; "" if it is the same.
    """

    name: str
    dtype: np.dtype[Any]
    axis: Axis
    role: Role
    _: dataclasses.KW_ONLY
    column: str | None = None
    column_padding: int = 0
    is_implied: bool = False
    v2_name: str = ""

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            allowed = ", ".join(map(str, DTYPES))
            raise ValueError(f"field {self.name!r} has dtype {self.dtype}; {allowed} are allowed")

    @property
    def tensor_dtype(self) -> np.dtype[Any]:
        """The dtype in batches: int32 for booleans and for integers of up to 32 bits."""
        is_small = self.dtype.kind in "biu" and self.dtype.itemsize <= 4
        return INT32 if is_small else self.dtype

    @property
    def feature_kind(self) -> str:
        """The kind of list that holds its values in an Example."""
        kinds = {"f": "float_list", "O": "bytes_list"}
        return kinds.get(self.dtype.kind, "int64_list")


INPUT_IDS = Field(
    "input_ids", INT32, Axis.TOKENS, Role.IDS, column="tokens", v2_name="input_word_ids"
)
INPUT_MASK = Field("input_mask", INT32, Axis.TOKENS, Role.WEIGHTS, is_implied=True)
SEGMENT_IDS = Field(
    "segment_ids",
    INT8,
    Axis.TOKENS,
    Role.SEGMENTS,
    column="segment_ids",
    column_padding=-1,
    v2_name="input_type_ids",
)
INPUT_IDS_SPLITS = Field("input_ids_splits_0", INT32, Axis.WORDS, Role.SPLITS)
MASKED_LM_POSITIONS = Field(
    "masked_lm_positions", INT32, Axis.PREDICTIONS, Role.POSITIONS, column="masked_positions"
)
MASKED_LM_IDS = Field("masked_lm_ids", INT32, Axis.PREDICTIONS, Role.IDS, column="masked_labels")
MASKED_LM_WEIGHTS = Field(
    "masked_lm_weights", FLOAT32, Axis.PREDICTIONS, Role.WEIGHTS, is_implied=True
)
NEXT_SENTENCE_LABELS = Field(
    "next_sentence_labels", BOOL, Axis.INSTANCES, Role.LABELS, column="is_random_next"
)
SENTENCE_ORDER_LABELS = Field(
    "next_sentence_labels", BOOL, Axis.INSTANCES, Role.LABELS, column="sentence_order_label"
)
"""Records have it under the name that ALBERT's have."""

POSITION_IDS = Field("position_ids", INT32, Axis.TOKENS, Role.POSITIONS)
INSTANCE_IDS = Field("instance_ids", INT32, Axis.TOKENS, Role.INSTANCES)
NEXT_SENTENCE_WEIGHTS = Field("next_sentence_weights", FLOAT32, Axis.INSTANCES, Role.WEIGHTS)
NEXT_SENTENCE_POSITIONS = Field("next_sentence_positions", INT32, Axis.INSTANCES, Role.POSITIONS)
MADE_BY_READER = (POSITION_IDS, INSTANCE_IDS, NEXT_SENTENCE_WEIGHTS, NEXT_SENTENCE_POSITIONS)
"""Fields that no record has: batches hold them where a row is several instances, or none."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordKind:
    """The fields of every record in a set.

    Attributes:
      padded_to: the length to which fields of an axis are padded with 0; fields of other axes are
        not padded.
      feature_names: one of `FEATURE_NAMES`.
    """

    name: str
    fields: tuple[Field, ...]
    padded_to: Mapping[Axis, int] = dataclasses.field(default_factory=dict, hash=False)
    feature_names: str = GOOGLE_NAMES

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        if len(set(names)) < len(names):
            raise ValueError(f"fields of {self.name!r} are {names}; each may appear only once")
        for field in self.fields:
            if field.is_implied and not any(other.axis is field.axis for other in self.stored):
                raise ValueError(f"no field of {self.name!r} shows how many {field.axis} there are")

    def feature_of(self, field: Field) -> str:
        """Return the name of a field's feature in an Example."""
        return (field.v2_name if self.feature_names == V2_NAMES else "") or field.name

    @property
    def stored(self) -> tuple[Field, ...]:
        """The fields that a column batch holds, in order."""
        return tuple(field for field in self.fields if not field.is_implied)

    def in_parquet(self) -> "RecordKind":
        """Return the kind as Parquet stores it: without the fields that it omits.

        Only tokens are padded, if anything is: the segment -1 shows where a row's padding begins.
        """
        fields = tuple(field for field in self.fields if field.column or field.is_implied)
        padded_to: dict[Axis, int] = {a: n for a, n in self.padded_to.items() if a is Axis.TOKENS}
        return RecordKind(name=self.name, fields=fields, padded_to=padded_to)

    def find(self, axis: Axis, role: Role) -> Field | None:
        """Return the first field of this axis and role, or None."""
        return next((f for f in self.fields if f.axis is axis and f.role is role), None)


LABELLED, SAMPLES = "labelled", "samples"

MASKED_LM_FIELDS = (
    INPUT_IDS,
    INPUT_MASK,
    SEGMENT_IDS,
    MASKED_LM_POSITIONS,
    MASKED_LM_IDS,
    MASKED_LM_WEIGHTS,
)
"""Fields of every record of masked language modelling; most also have the label of an objective."""


def masked_lm_records(
    layout: str,
    *,
    max_seq_length: int = 0,
    max_predictions_per_seq: int = 0,
    sentence_field: Field | None = NEXT_SENTENCE_LABELS,
    feature_names: str = GOOGLE_NAMES,
) -> RecordKind:
    """Return the kind of masked language modelling records.

    Args:
      layout: "ragged": nothing is padded, and there are row splits of the pieces into words.
        "reference": Google's seven features, padded.
      max_seq_length, max_predictions_per_seq: what "reference" pads to.
      sentence_field: the label of the two segments; None: there is none.
      feature_names: one of `FEATURE_NAMES`; "v2" is for "reference".
    """
    check_choice("layout", layout, LAYOUTS)
    if layout == REFERENCE and max_seq_length < 1:
        raise ValueError(f"max_seq_length is {max_seq_length}; {layout!r} pads to 1 or more")
    label = () if sentence_field is None else (sentence_field,)
    tokens, instances, predictions = (
        tuple(field for field in MASKED_LM_FIELDS if field.axis is axis)
        for axis in (Axis.TOKENS, Axis.INSTANCES, Axis.PREDICTIONS)
    )
    fields = (*tokens, *label, *instances, *predictions)
    if layout == RAGGED:
        return RecordKind(name=RAGGED, fields=(*fields, INPUT_IDS_SPLITS))
    padded_to = {Axis.TOKENS: max_seq_length, Axis.PREDICTIONS: max_predictions_per_seq}
    return RecordKind(
        name=REFERENCE, fields=fields, padded_to=padded_to, feature_names=feature_names
    )


def tokens_name(text: str) -> str:
    """Return the name of the ragged array with the tokens of a text."""
    return f"{text}_tokens"


def num_tokens_name(text: str) -> str:
    """Return the name of the field with the number of tokens of a text."""
    return f"{text}_tokens_len"


def labelled_records(texts: Sequence[str] = TEXTS[:1], label: str = LABEL) -> RecordKind:
    """Return the kind of labelled text records.

    The tokens of a text are [sentences, words, pieces]; it may be one sentence.

    Args:
      texts: names of the texts: one, or two for pairs.
      label: name of the label.
    """
    fields = [Field(label, INT64, Axis.INSTANCES, Role.LABELS)]
    for text in texts:
        tokens = tokens_name(text)
        fields += [
            Field(text, BYTES, Axis.INSTANCES, Role.TEXT),
            Field(num_tokens_name(text), INT64, Axis.INSTANCES, Role.LENGTHS),
            Field(values_name(tokens), INT64, Axis.TOKENS, Role.IDS),
        ]
        for dimension, axis in enumerate((Axis.SENTENCES, Axis.WORDS)):
            fields.append(Field(splits_name(tokens, dimension), INT64, axis, Role.SPLITS))
    return RecordKind(name=LABELLED, fields=tuple(fields))


GPT_SAMPLES = RecordKind(
    name=SAMPLES,
    fields=tuple(
        Field(name, dtype, Axis.TOKENS, role, column=name)
        for name, dtype, role in (
            ("tokens", INT32, Role.IDS),
            ("labels", INT32, Role.LABELS),
            ("loss_mask", FLOAT32, Role.WEIGHTS),
            ("position_ids", INT32, Role.POSITIONS),
            ("segment_starts", INT32, Role.SEGMENTS),
        )
    ),
)
"""GPT samples: every field has as many values as a sample has tokens."""
