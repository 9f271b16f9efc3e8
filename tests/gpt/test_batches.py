"""Batches of GPT samples: from any start, for several hosts, and into `model.fit`."""

import numpy as np
import pytest
import tensorflow as tf

from bert_data.errors import CorruptDataError
from bert_data.gpt import GptConfig, GptDataset, build_datasets
from bert_data.gpt import batches as module
from bert_data.gpt.batches import SampleReaderConfig, read_samples
from bert_data.reader import explain
from tests.gpt.stores import write_store
from tests.rows import mostly_slow

SEQ_LENGTH = 5


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """A blend of two stores, 47 samples, with ends of documents and masks of all kinds."""
    folder = tmp_path_factory.mktemp("stores")
    random = np.random.RandomState(0)
    stories = [[*random.randint(1, 60_000, random.randint(1, 9)), 0] for _ in range(30)]
    prefixes = [
        write_store(folder / "a", stories[:12]), write_store(folder / "b", stories[12:], "<i4")
    ]  # fmt: skip
    config = GptConfig(
        seq_length=SEQ_LENGTH,
        eod_id=0,
        reset_position_ids=True,
        reset_attention_mask=True,
        eod_mask_loss=True,
    )
    built, _, _ = build_datasets(prefixes, config, weights=[1, 2], num_samples=[47])
    return built


def batches(dataset, **settings):
    dataset_of_batches = read_samples(dataset, SampleReaderConfig(**settings))
    arrays = [
        {name: value.numpy() for name, value in batch.items()} for batch in dataset_of_batches
    ]
    if settings.get("num_epochs", 1) is not None:
        assert dataset_of_batches.cardinality().numpy() == len(arrays)
    return arrays


def assert_batches(batches_read, dataset, rows):
    """The batches are those of these samples, in every field."""
    assert len(batches_read) == len(rows)
    for batch, numbers in zip(batches_read, rows, strict=True):
        expected = dataset.batch(numbers)._asdict()
        assert set(batch) == set(expected)
        for name, values in expected.items():
            assert batch[name].dtype == values.dtype
            np.testing.assert_array_equal(batch[name], values)


@mostly_slow("group_tokens", [1, 60, 1 << 18])
@mostly_slow(("batch_size", "drop"), [(4, True), (4, False), (47, False), (50, False)])
def test_samples_come_in_order(dataset, batch_size, drop, group_tokens, monkeypatch):
    monkeypatch.setattr(module, "GROUP_TOKENS", group_tokens)
    rows = [range(start, min(start + batch_size, 47)) for start in range(0, 47, batch_size)]
    rows = [part for part in rows if len(part) == batch_size or not drop]
    batches_read = batches(dataset, batch_size=batch_size, drop_remainder=drop)
    assert_batches(batches_read, dataset, rows)
    again = batches(dataset, batch_size=batch_size, drop_remainder=drop, num_epochs=2)
    assert_batches(again, dataset, rows * 2)


@pytest.mark.slow
@pytest.mark.parametrize("num_hosts", [1, 2, 3])
def test_any_start_goes_on_as_from_the_beginning(dataset, num_hosts):
    per_epoch = 47 // (5 * num_hosts)
    for host in range(num_hosts):
        settings = {"batch_size": 5, "num_hosts": num_hosts, "host_index": host, "num_epochs": 3}
        rows = [
            range(
                (k % per_epoch * num_hosts + host) * 5, (k % per_epoch * num_hosts + host) * 5 + 5
            )
            for k in range(3 * per_epoch)
        ]
        for start in (0, 1, 2, per_epoch - 1, per_epoch, per_epoch + 1, 3 * per_epoch - 1):
            batches_read = batches(dataset, start_batch=start, **settings)
            assert_batches(batches_read, dataset, rows[start:])


def test_a_start_after_the_last_batch_is_refused(dataset):
    settings = {"batch_size": 5, "num_epochs": 2}
    assert batches(dataset, start_batch=18, **settings) == []
    with pytest.raises(ValueError, match="start_batch is 19, but there are 18 batches"):
        read_samples(dataset, SampleReaderConfig(start_batch=19, **settings))


def test_hosts_share_a_global_batch(dataset):
    whole = batches(dataset, batch_size=6)
    parts = [batches(dataset, batch_size=2, num_hosts=3, host_index=h) for h in range(3)]
    for batch, *rows in zip(whole, *parts, strict=True):
        joined = np.concatenate([part["tokens"] for part in rows])
        np.testing.assert_array_equal(joined, batch["tokens"])


def test_a_far_start_costs_nothing(dataset):
    """A hundred million batches are not walked over."""
    samples = read_samples(
        dataset, SampleReaderConfig(batch_size=4, num_epochs=None, start_batch=11 * 10**15 + 3)
    )
    assert samples.cardinality() == tf.data.INFINITE_CARDINALITY
    first = next(iter(samples))
    np.testing.assert_array_equal(first["tokens"], dataset.batch(range(12, 16)).tokens)


def test_shapes_are_known_and_the_form_of_fit(dataset):
    samples = read_samples(dataset, SampleReaderConfig(batch_size=4, form="fit"))
    inputs, labels, weights = samples.element_spec
    assert set(inputs) == {"tokens", "position_ids", "segment_starts"}
    assert {tuple(spec.shape) for spec in inputs.values()} == {(4, SEQ_LENGTH)}
    assert (labels.dtype, weights.dtype) == (tf.int32, tf.float32)
    features, labels, weights = next(iter(samples))
    expected = dataset.batch(range(4))
    np.testing.assert_array_equal(features["segment_starts"], expected.segment_starts)
    np.testing.assert_array_equal(labels, expected.labels)
    np.testing.assert_array_equal(weights, expected.loss_mask)
    ragged = read_samples(dataset, SampleReaderConfig(batch_size=4, drop_remainder=False))
    assert ragged.element_spec["tokens"].shape.as_list() == [None, SEQ_LENGTH]


def test_replicas_take_the_rows_of_the_global_batch(dataset):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    distributed = strategy.distribute_datasets_from_function(
        lambda context: read_samples(
            dataset, SampleReaderConfig(batch_size=6, start_batch=2), input_context=context
        )
    )
    tokens = [batch["tokens"].numpy() for batch in distributed]
    assert len(tokens) == 5
    np.testing.assert_array_equal(tokens[0], dataset.batch(range(12, 18)).tokens)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"num_hosts": 2, "host_index": 2}, "host_index is 2; it must be below num_hosts, 2"),
        ({"num_hosts": 2, "drop_remainder": False}, "must be True with more than one host"),
    ],
)
def test_settings_are_checked(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        SampleReaderConfig(**{"batch_size": 4, **changes})


def test_too_few_samples_are_told(dataset):
    with pytest.raises(ValueError, match="has 47 samples, fewer than the 48 of a batch of all"):
        read_samples(dataset, SampleReaderConfig(batch_size=24, num_hosts=2))


def test_damage_comes_through_tensorflow(tmp_path):
    prefix = write_store(tmp_path / "s", [[1, 5, 2, 3, 4, 5]], "<i4")
    dataset = GptDataset(prefix, GptConfig(seq_length=2))
    (tmp_path / "s.bin").write_bytes(np.array([1, -5, 2, 3, 4, 5], "<i4").tobytes())
    samples = read_samples(dataset, SampleReaderConfig(batch_size=2))
    with pytest.raises(tf.errors.OpError) as caught:
        list(samples)
    explained = explain(caught.value)
    assert isinstance(explained, CorruptDataError)
    assert explained.path == f"{prefix}.bin"
