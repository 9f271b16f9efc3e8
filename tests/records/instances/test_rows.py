"""Rows hold what fits them, and read well."""

import tempfile

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from bert_data.records import fields
from bert_data.records.fields import masked_lm_records
from bert_data.records.formats.examples import ExampleEncoder
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.instances.rows import (
    Instance,
    check_row_fits,
    code_bits,
    decode_row,
    read_columns,
)
from tests.hypotheses import examples
from tests.records.corpora import TOKENS, documents, large_vocabulary, store_of, vocabulary_of
from tests.records.formats.tfrecords import features_of, split_records
from tests.records.instances.test_making import CONFIGS, make_rows_of
from tests.records.oracle import instances_of
from tests.rows import mostly_slow


@pytest.mark.parametrize(("size", "bits"), [(5, 3), (7, 3), (8, 4), (30_522, 15), (65_536, 17)])
def test_a_code_holds_every_id_and_the_word_that_says_kept(size, bits):
    assert code_bits(size) == bits
    assert (1 << bits) - 1 not in range(size)


def test_rows_that_do_not_fit_are_refused():
    check_row_fits(65_535, 65_535)
    check_row_fits(65_536 // 2, 65_536)
    with pytest.raises(
        ValueError, match="max_seq_length 32769 with a vocabulary of 65,536 entries"
    ):
        check_row_fits(32_769, 65_536)


def test_a_row_by_hand():
    vocabulary = vocabulary_of(TOKENS)
    ids = np.array([5, 6, 9, 10, 13, 15], np.uint16)
    kept = (1 << code_bits(len(TOKENS))) - 1
    bits = code_bits(len(TOKENS))
    masked = [1 << bits | vocabulary.mask_id, 4 << bits | kept]
    row = [1, 0, 4, 0, 2 << 16 | 2, 2 << 1 | 1, *masked, 77]
    assert decode_row(np.array(row, np.uint32), ids, vocabulary) == Instance(
        ids=(2, 4, 9, 3, 13, 15, 3),
        segment_ids=(0, 0, 0, 0, 1, 1, 1),
        masked_positions=(1, 4),
        masked_ids=(6, 13),
        label=True,
    )


VOCABULARY = vocabulary_of(TOKENS)
LARGE_VOCABULARY = large_vocabulary()
LAYOUTS = st.sampled_from((*fields.LAYOUTS, fields.V2_NAMES))
_OF_V2 = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}


def serialize(values: dict[str, list[int] | list[float]]) -> bytes:
    """An Example with its entries sorted by name, each made by protobuf.

    Protobuf's own deterministic order differs between its implementations where one name begins
    with another, as "input_ids_splits_0" does with "input_ids".
    """
    entries = b""
    for name in sorted(values):
        message = tf.train.Features()
        if name == fields.MASKED_LM_WEIGHTS.name:
            message.feature[name].float_list.value.extend(values[name])
        else:
            message.feature[name].int64_list.value.extend(values[name])
        entries += message.SerializeToString()
    size, prefix = len(entries), bytearray(b"\x0a")
    while size >= 128:
        prefix.append(size & 127 | 128)
        size >>= 7
    return bytes(prefix) + bytes([size]) + entries


def write(rows, order, ids, vocabulary, kind):
    """(bytes of the records, ends, tokens)."""
    batch = read_columns(rows, order, ids, vocabulary, kind)
    data, ends = ExampleEncoder(kind).encode(batch)
    return data.tobytes(), ends, batch.num_tokens()


def assert_records(corpus, vocabulary, config: InstanceConfig, name: str) -> None:
    lengths = {
        "max_seq_length": config.max_seq_length,
        "max_predictions_per_seq": config.max_predictions_per_seq,
    }
    with tempfile.TemporaryDirectory() as folder:
        store = store_of(corpus, vocabulary, folder)
    spooled, rows = make_rows_of(store, vocabulary, config)
    renames = _OF_V2 if name == fields.V2_NAMES else {}
    layout, names = (fields.REFERENCE, name) if renames else (name, fields.GOOGLE_NAMES)
    kind = masked_lm_records(
        layout, **lengths, sentence_field=config.objective.label, feature_names=names
    )
    data, ends, num_tokens = write(rows, spooled.order, store.ids, vocabulary, kind)
    expected = instances_of(corpus, vocabulary, config)
    records = split_records(data)
    assert [at for at, _ in records] == [0, *ends[:-1]]
    assert num_tokens.tolist() == [len(instance.ids) for instance in expected]
    for (_, record), instance in zip(records, expected, strict=True):
        assert len(record) == tf.train.Example.FromString(record).ByteSize()
        features = features_of(instance, vocabulary, layout, **lengths)
        assert record == serialize({renames.get(key, key): features[key] for key in features})


@pytest.mark.slow
@examples(60)
@given(documents(VOCABULARY), CONFIGS, LAYOUTS)
def test_records_are_the_oracles_instances(corpus, config, name):
    assert_records(corpus, VOCABULARY, config, name)


@pytest.mark.slow
@examples(12)
@given(documents(LARGE_VOCABULARY), CONFIGS, LAYOUTS)
def test_records_with_ids_of_more_than_16_bits(corpus, config, name):
    assert_records(corpus, LARGE_VOCABULARY, config, name)


@mostly_slow("name", fields.LAYOUTS)
@mostly_slow("whole_words", [False, True])
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
    for name in fields.LAYOUTS:
        assert_records([[[5], [9, 10]]], VOCABULARY, config, name)


def test_row_splits_rebuild_the_words():
    """Whole words of A, of B cut inside a word, and single special tokens, by hand."""
    token = VOCABULARY.ids
    # [CLS] ##ab ##cd two | ##ef [SEP] ##cd end [SEP], where A and B begin inside a word.
    ids = [token[t] for t in ("##ab", "##cd", "two", "##ef", "##cd", "end")]
    bits = code_bits(VOCABULARY.size)
    masked = 3 << bits | VOCABULARY.mask_id  # does not change where words are
    rows = np.array([[0, 0, 4, 0, 2 << 16 | 4, 1 << 1 | 1, masked]], np.uint32)
    kind = masked_lm_records("ragged", max_seq_length=16, max_predictions_per_seq=1)
    order, store_ids = np.zeros(1, np.uint32), np.array(ids, np.uint16)
    data, _, _ = write(rows, order, store_ids, VOCABULARY, kind)
    example = tf.train.Example.FromString(split_records(data)[0][1])
    numbers = {name: list(f.int64_list.value) for name, f in example.features.feature.items()}
    assert numbers[fields.INPUT_IDS_SPLITS.name] == [0, 1, 3, 5, 6, 7, 8, 9]
    words = tf.RaggedTensor.from_row_splits(
        numbers[fields.INPUT_IDS.name], numbers[fields.INPUT_IDS_SPLITS.name]
    )
    mask_id = VOCABULARY.mask_id
    assert words.to_list() == [
        [VOCABULARY.cls_id], ids[:2], [mask_id, ids[3]], [VOCABULARY.sep_id], [ids[4]], [ids[5]],
        [VOCABULARY.sep_id],
    ]  # fmt: skip
