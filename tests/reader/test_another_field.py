"""A field more in `records/fields.py` is read in every way; no module of the reader names it."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.reader import ReaderConfig, iterate_arrays, iterate_batches, read_batches
from bert_data.reader.layout import layout_of
from bert_data.records import fields
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import BYTES, FLOAT32, INT8, INT32, Axis, Field, RecordKind, Role
from bert_data.records.formats.registry import WriterSettings, find_shard_format
from tests.reader.making import MAX_PREDICTIONS, MAX_TOKENS, make_instances, write_shard
from tests.reader.parquet_making import write_instances
from tests.rows import mostly_slow

SHAPES = Field("word_shapes", INT32, Axis.TOKENS, Role.LABELS, column="shapes")
SCORES = Field("masked_scores", FLOAT32, Axis.PREDICTIONS, Role.WEIGHTS, column="scores")
SOURCE = Field("source", INT8, Axis.INSTANCES, Role.LABELS, column="source")
NUMBER = Field("number_of_the_document_in_its_file", INT32, Axis.INSTANCES, Role.LABELS, column="n")
MORE = (SHAPES, SCORES, SOURCE, NUMBER)
"""Names as long as those of other fields, shorter than a word of the processor, and long ones."""

NUM_INSTANCES = 60
FORMATS = ("ragged", "reference", "gzip", "parquet")


@pytest.fixture(autouse=True)
def _more_fields(monkeypatch):
    monkeypatch.setattr(fields, "MASKED_LM_FIELDS", (*fields.MASKED_LM_FIELDS, *MORE))


def columns_of(kind: RecordKind) -> ColumnBatch:
    """Instances whose further fields follow from their ids."""
    instances = make_instances(NUM_INSTANCES)
    tokens = [np.array(i.tokens, np.int32) for i in instances]
    labels = [np.array(i.labels, np.int32) for i in instances]
    firsts = np.array([ids[0] for ids in tokens])
    values = {
        fields.INPUT_IDS: tokens,
        fields.SEGMENT_IDS: [i.segments for i in instances],
        fields.INPUT_IDS_SPLITS: [range(ids.size + 1) for ids in tokens],
        fields.MASKED_LM_POSITIONS: [i.positions for i in instances],
        fields.MASKED_LM_IDS: labels,
        SHAPES: [shapes_of(ids) for ids in tokens],
        SCORES: [scores_of(ids) for ids in labels],
    }
    columns = {
        field.name: Column(
            np.concatenate([np.array(part, field.dtype) for part in parts]),
            np.cumsum([0, *map(len, parts)], dtype=np.int32),
        )
        for field, parts in values.items()
        if field in kind.fields
    }
    columns[SOURCE.name] = Column(source_of(firsts).astype(np.int8))
    columns[NUMBER.name] = Column(number_of(firsts).astype(np.int32))
    columns[fields.NEXT_SENTENCE_LABELS.name] = Column(firsts % 2 == 1)
    return ColumnBatch(kind=kind, columns=columns)


def shapes_of(ids):
    return 3 * ids - 1000


def scores_of(labels):
    return np.float32(labels) / 8


def source_of(first_ids):
    return -(first_ids % 5)


def number_of(first_ids):
    return first_ids * 1_000_000


@pytest.fixture
def shards(tmp_path: Path) -> dict[str, str]:
    """A shard of each format, by name."""
    paths = {}
    for name in FORMATS:
        layout = "reference" if name == "reference" else "ragged"
        kind = fields.masked_lm_records(
            layout, max_seq_length=MAX_TOKENS, max_predictions_per_seq=MAX_PREDICTIONS
        )
        form = find_shard_format("parquet" if name == "parquet" else "tfrecord")
        compression = "gzip" if name == "gzip" else "none"
        writer = form.make(kind, WriterSettings(compression=compression, group_records=7))
        paths[name] = str(tmp_path / name)
        with writer.open_shard(lambda path: open(path, "wb"), paths[name], NUM_INSTANCES) as shard:
            shard.add(writer.encode(columns_of(writer.kind)))
            shard.finish()
    return paths


def check(batch: dict) -> list[int]:
    """Compare a batch's further fields with its ids; return the numbers of its instances."""
    arrays = {name: np.asarray(values) for name, values in batch.items()}
    is_token = arrays["input_mask"] > 0
    expected = np.where(is_token, shapes_of(arrays["input_ids"]), 0)
    np.testing.assert_array_equal(arrays[SHAPES.name], expected)
    weights = arrays["masked_lm_weights"]
    np.testing.assert_array_equal(arrays[SCORES.name], weights * scores_of(arrays["masked_lm_ids"]))
    assert arrays[SCORES.name].dtype == np.float32
    begins = arrays.get("next_sentence_positions", np.zeros((len(is_token), 1), np.int32))
    is_there = arrays.get("next_sentence_weights", np.ones(begins.shape)) > 0
    firsts = np.take_along_axis(arrays["input_ids"], begins, axis=1)[is_there]
    np.testing.assert_array_equal(arrays[SOURCE.name][is_there], source_of(firsts))
    np.testing.assert_array_equal(arrays[NUMBER.name][is_there], number_of(firsts))
    assert not arrays[NUMBER.name][~is_there].any()
    return firsts.tolist()


WAYS = {
    "stream": {"batching": "stream", "shuffle_buffer": 20},
    "stream of one width": {"batching": "stream", "width": "max"},
    **{name: {"batching": name} for name in ("plain", "pools", "buckets", "packed")},
}
LIMITS = {"max_seq_length": MAX_TOKENS, "max_predictions_per_seq": MAX_PREDICTIONS}


@mostly_slow("name", FORMATS)
@mostly_slow("way", WAYS)
def test_it_is_read_in_every_way(shards, name, way):
    if name == "gzip" and way in ("packed", "buckets"):
        pytest.skip("compressed shards cannot be planned")
    if name == "parquet" and "stream" not in way:
        pytest.skip("Parquet is read in order")
    config = ReaderConfig(
        input_patterns=shards[name],
        batch_size=7,
        shuffle=name != "parquet",
        num_epochs=2,
        vocab_size=30522,
        **{**LIMITS, **WAYS[way]},
    )
    for read in (iterate_arrays, iterate_batches, read_batches):
        numbers = [number for batch in read(config) for number in check(batch)]
        assert sorted(numbers) == sorted(2 * list(range(1, NUM_INSTANCES + 1)))


def test_hosts_and_mixed_formats_share_it(shards):
    numbers = []
    for host in range(2):
        config = ReaderConfig(
            input_patterns=[shards["ragged"], shards["parquet"]],
            batch_size=7,
            num_hosts=2,
            host_index=host,
            **LIMITS,
        )
        numbers += [number for batch in iterate_arrays(config) for number in check(batch)]
    assert sorted(numbers) == sorted(2 * list(range(1, NUM_INSTANCES + 1)))


def test_records_without_it_are_damaged(tmp_path):
    paths = [write_shard(tmp_path / layout, make_instances(9), layout) for layout in FORMATS[:2]]
    for path, batching in itertools.product(paths, ("stream", "plain")):
        with pytest.raises(CorruptDataError, match="a record has no feature 'word_shapes'"):
            next(iterate_arrays(ReaderConfig(input_patterns=str(path), batch_size=2,
                                             batching=batching)))  # fmt: skip
    rows = write_instances(tmp_path / "rows", make_instances(9))
    with pytest.raises(ValueError, match="has no column 'shapes'"):
        next(iterate_arrays(ReaderConfig(input_patterns=str(rows), batch_size=2)))


def test_batches_hold_only_small_numbers():
    title = Field("title", BYTES, Axis.INSTANCES, Role.TEXT)
    with pytest.raises(ValueError, match="field 'title' holds object; int32, smaller integers and"):
        layout_of(RecordKind(name="titles", fields=(fields.INPUT_IDS, title)))
