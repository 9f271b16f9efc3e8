"""Bytes of records against what protobuf makes of the oracle's instances."""

import tempfile

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data import features
from bert_data.objectives.making import InstanceConfig
from bert_data.objectives.rows import Instance, code_bits
from bert_data.records.examples import write_records
from bert_data.records.layout import max_record_bytes, record_layout, record_scratch
from tests.objectives.corpora import TOKENS, documents, large_vocabulary, store_of, vocabulary_of
from tests.objectives.oracle import instances_of
from tests.objectives.test_making import CONFIGS, make_rows_of
from tests.records.tfrecords import features_of, split_records

VOCABULARY = vocabulary_of(TOKENS)
LARGE_VOCABULARY = large_vocabulary()
LAYOUTS = st.sampled_from(features.LAYOUTS)


def serialize(values: dict[str, list[int] | list[float]]) -> bytes:
    """An Example with its entries sorted by name, each made by protobuf.

    Protobuf's own deterministic order differs between its implementations where one name begins
    with another, as "input_ids_splits_0" does with "input_ids".
    """
    entries = b""
    for name in sorted(values):
        message = tf.train.Features()
        if name == features.MASKED_LM_WEIGHTS:
            message.feature[name].float_list.value.extend(values[name])
        else:
            message.feature[name].int64_list.value.extend(values[name])
        entries += message.SerializeToString()
    size, prefix = len(entries), bytearray(b"\x0a")
    while size >= 128:
        prefix.append(size & 127 | 128)
        size >>= 7
    return bytes(prefix) + bytes([size]) + entries


def write(rows, order, ids, layout, seq_length: int, predictions: int):
    """(bytes of the records, ends, tokens), in a buffer that is no larger than it must be."""
    scratch = record_scratch(seq_length)
    out = np.full(len(order) * max_record_bytes(seq_length, predictions) + 1, 0xEE, np.uint8)
    ends, num_tokens = np.empty(len(order), np.int64), np.empty(len(order), np.uint32)
    size = write_records(rows, order, ids, layout, scratch, out, ends, num_tokens)
    assert out[-1] == 0xEE
    return out[:size].tobytes(), ends, num_tokens


def assert_records(corpus, vocabulary, config: InstanceConfig, name: str) -> None:
    lengths = {
        "max_seq_length": config.max_seq_length,
        "max_predictions_per_seq": config.max_predictions_per_seq,
    }
    with tempfile.TemporaryDirectory() as folder:
        store = store_of(corpus, vocabulary, folder)
    made, rows = make_rows_of(store, vocabulary, config)
    layout = record_layout(name, vocabulary, **lengths)
    data, ends, num_tokens = write(
        rows, made.order, store.ids, layout, config.max_seq_length, config.max_predictions_per_seq
    )
    expected = instances_of(corpus, vocabulary, config)
    records = split_records(data)
    assert [at for at, _ in records] == [0, *ends[:-1]]
    assert num_tokens.tolist() == [len(instance.ids) for instance in expected]
    for (_, record), instance in zip(records, expected, strict=True):
        assert len(record) == tf.train.Example.FromString(record).ByteSize()
        assert record == serialize(features_of(instance, vocabulary, name, **lengths))


@settings(max_examples=150)
@given(documents(VOCABULARY), CONFIGS, LAYOUTS)
def test_records_are_the_oracles_instances(corpus, config, name):
    assert_records(corpus, VOCABULARY, config, name)


@settings(max_examples=30)
@given(documents(LARGE_VOCABULARY), CONFIGS, LAYOUTS)
def test_records_with_ids_of_more_than_16_bits(corpus, config, name):
    assert_records(corpus, LARGE_VOCABULARY, config, name)


@pytest.mark.parametrize("name", features.LAYOUTS)
@pytest.mark.parametrize("whole_words", [False, True])
def test_long_records(name, whole_words):
    """Lengths and row splits of two and three bytes."""
    corpus = [[[5 + (i * i) % 11 for i in range(n)]] for n in (20_000, 130, 30_000)]
    config = InstanceConfig(
        max_seq_length=20_000,
        max_predictions_per_seq=20_100,
        masked_lm_prob=1,
        dupe_factor=1,
        do_whole_word_mask=whole_words,
    )
    assert_records(corpus, VOCABULARY, config, name)


def test_more_predictions_than_tokens():
    config = InstanceConfig(max_seq_length=5, max_predictions_per_seq=300, masked_lm_prob=1)
    for name in features.LAYOUTS:
        assert_records([[[5], [9, 10]]], VOCABULARY, config, name)


@pytest.mark.parametrize("bits", [7, 14, 21, 28])
def test_ids_at_the_edges_of_their_bytes(bits):
    """A padded record does not look ids up, so that it can hold ids of no vocabulary."""
    ids = np.array([(1 << bits) - 1, 1 << bits, 1, 2**31 - 1], np.int32)
    layout = record_layout(
        "reference", VOCABULARY, max_seq_length=9, max_predictions_per_seq=2
    )._replace(code_bits=30)
    kept = (1 << 30) - 1
    rows = np.array([[0, 0, 2, 0, 2 << 16 | 2, 2 << 1, 1 << 30 | kept, 2 << 30 | 5]], np.uint32)
    data, _, _ = write(rows, np.zeros(1, np.uint32), ids, layout, 9, 2)
    first, second, third, fourth = ids.tolist()
    cls, sep = VOCABULARY.cls_id, VOCABULARY.sep_id
    instance = Instance(
        ids=(cls, first, 5, sep, third, fourth, sep),
        segment_ids=(0, 0, 0, 0, 1, 1, 1),
        masked_positions=(1, 2),
        masked_ids=(first, second),
        label=False,
    )
    expected = features_of(
        instance, VOCABULARY, "reference", max_seq_length=9, max_predictions_per_seq=2
    )
    assert split_records(data) == [(0, serialize(expected))]


def test_row_splits_rebuild_the_words():
    """Whole words of A, of B cut inside a word, and single special tokens, by hand."""
    token = VOCABULARY.ids
    # [CLS] ##ab ##cd two | ##ef [SEP] ##cd end [SEP], where A and B begin inside a word.
    ids = [token[t] for t in ("##ab", "##cd", "two", "##ef", "##cd", "end")]
    bits = code_bits(VOCABULARY.size)
    masked = 3 << bits | VOCABULARY.mask_id  # does not change where words are
    rows = np.array([[0, 0, 4, 0, 2 << 16 | 4, 1 << 1 | 1, masked]], np.uint32)
    layout = record_layout("ragged", VOCABULARY, max_seq_length=16, max_predictions_per_seq=1)
    data, _, _ = write(rows, np.zeros(1, np.uint32), np.array(ids, np.uint16), layout, 16, 1)
    example = tf.train.Example.FromString(split_records(data)[0][1])
    found = {name: list(f.int64_list.value) for name, f in example.features.feature.items()}
    assert found[features.INPUT_IDS_SPLITS] == [0, 1, 3, 5, 6, 7, 8, 9]
    words = tf.RaggedTensor.from_row_splits(
        found[features.INPUT_IDS], found[features.INPUT_IDS_SPLITS]
    )
    mask_id = VOCABULARY.mask_id
    assert words.to_list() == [
        [VOCABULARY.cls_id], ids[:2], [mask_id, ids[3]], [VOCABULARY.sep_id], [ids[4]], [ids[5]],
        [VOCABULARY.sep_id],
    ]  # fmt: skip


def test_every_layout_has_googles_names():
    assert set(features.LAYOUTS) == {"ragged", "reference"}
    instance = Instance(
        ids=(2, 5, 3, 6, 3), segment_ids=(0, 0, 0, 1, 1), masked_positions=(), masked_ids=(),
        label=True,
    )  # fmt: skip
    names = {
        layout: set(
            features_of(instance, VOCABULARY, layout, max_seq_length=5, max_predictions_per_seq=0)
        )
        for layout in features.LAYOUTS
    }
    assert names["reference"] == {
        "input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids",
        "masked_lm_weights", "next_sentence_labels",
    }  # fmt: skip
    assert names["ragged"] == names["reference"] | {"input_ids_splits_0"}
