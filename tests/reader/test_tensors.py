"""`read_batches` as its users see it: values, widths, order, resuming, forms."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

import bert_data
from bert_data.reader import ReaderConfig, read_batches
from bert_data.reader.config import UNKNOWN
from bert_data.reader.layout import PLANNED, arrays_of, layout_of, make_table, new_buffer
from bert_data.reader.streamed import BatchGroup, BatchSource
from bert_data.reader.tensors import dataset_of_groups
from tests.hypotheses import examples
from tests.reader.making import (
    ALL_FEATURES,
    INT_FEATURES,
    KIND,
    MAX_PREDICTIONS,
    MAX_TOKENS,
    STREAMED,
    assert_same_batch,
    dense,
    example_of,
    first_tokens,
    make_instances,
    widest,
    write_examples,
    write_index,
    write_shard,
    write_shards,
)
from tests.rows import mostly_slow

COVERS = ("reader/streamed", "reader/shard_batches")
INSTANCES = make_instances(23)


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A pattern of five shards of `INSTANCES` in each layout."""
    pattern_of = {}
    for layout in ("ragged", "reference"):
        pattern_of[layout] = write_shards(tmp_path_factory.mktemp(layout), 5, INSTANCES, layout)
    return pattern_of


def config_of(pattern: str, batch_size: int = 4, **changes: Any) -> ReaderConfig:
    return ReaderConfig(input_patterns=pattern, batch_size=batch_size, **changes)


def numpy_batches(config: ReaderConfig) -> list[Any]:
    return list(read_batches(config).as_numpy_iterator())


def batches_of(group: BatchGroup) -> list[dict[str, np.ndarray]]:
    """The batches of a group."""
    return list(arrays_of(group, STREAMED))


# Records are dealt to the shards one by one, and read shard by shard.
IN_ORDER = [instance for shard in range(5) for instance in INSTANCES[shard::5]]


@examples(100)
@given(st.data())
def test_batches_equal_those_made_one_number_at_a_time(
    patterns: dict[str, str], data: st.DataObject
) -> None:
    layout = data.draw(st.sampled_from(("ragged", "reference")))
    batch_size = data.draw(st.integers(1, 25))
    widths = st.sets(st.integers(1, MAX_TOKENS), min_size=1).map(lambda w: tuple(sorted(w)))
    width = data.draw(st.one_of(st.sampled_from(("batch", "max")), widths))
    drop_remainder = data.draw(st.booleans())
    config = config_of(
        patterns[layout],
        batch_size,
        width=width,
        drop_remainder=drop_remainder,
        max_seq_length=MAX_TOKENS,
        max_predictions_per_seq=MAX_PREDICTIONS,
    )
    if drop_remainder and batch_size > len(IN_ORDER):
        with pytest.raises(ValueError, match="do not fill a batch, and drop_remainder is True"):
            list(BatchSource(config).groups())
        return
    # Made without tf.data, which would take most of the time; the next tests go through it.
    batches = [batch for group in BatchSource(config).groups() for batch in batches_of(group)]
    rows = [IN_ORDER[i : i + batch_size] for i in range(0, len(IN_ORDER), batch_size)]
    if drop_remainder and len(rows[-1]) < batch_size:
        rows.pop()
    assert len(batches) == len(rows)
    for batch, instances in zip(batches, rows, strict=True):
        tokens, predictions = widest(instances)
        if width == "max":
            tokens = MAX_TOKENS
        elif width != "batch":
            tokens = next((w for w in width if w >= tokens), MAX_TOKENS)
        if width != "batch":
            predictions = MAX_PREDICTIONS
        assert_same_batch(batch, dense(instances, tokens, predictions))


def test_padded_records_tell_their_limits_and_neither_manifest_nor_plain_files_are_needed(
    patterns: dict[str, str], tmp_path: Path
) -> None:
    config = config_of(patterns["reference"], 23, width="max")
    assert_same_batch(numpy_batches(config)[0], dense(IN_ORDER, MAX_TOKENS, MAX_PREDICTIONS))
    examples = [example_of(i, "reference", extra=True) for i in INSTANCES]
    path = write_examples(tmp_path / "google.tfrecord", examples)
    packed = write_shard(tmp_path / "packed", INSTANCES, compression="GZIP")
    assert packed.read_bytes()[:2] == b"\x1f\x8b"
    for shard in (path, packed):
        (batch,) = numpy_batches(config_of(str(shard), 23))
        assert_same_batch(batch, dense(INSTANCES, *widest(INSTANCES)))


@pytest.mark.slow
def test_many_batches_and_blocks(tmp_path: Path) -> None:
    """Blocks of a shard and groups of batches follow each other without a seam."""
    instances = make_instances(7000)
    path = write_shard(tmp_path / "large", instances)
    assert path.stat().st_size > 3 << 19  # more than one block
    batches = numpy_batches(config_of(str(path), 64, width="max", max_seq_length=300,
                                      max_predictions_per_seq=4))  # fmt: skip
    assert first_tokens(batches) == list(range(1, 7001))
    for number in (0, 55, 109):
        rows = instances[64 * number : 64 * number + 64]
        assert_same_batch(batches[number], dense(rows, 300, 4))


def test_specs_are_as_static_as_the_width_allows(patterns: dict[str, str]) -> None:
    pattern = patterns["reference"]
    spec = read_batches(config_of(pattern, width="max", drop_remainder=True)).element_spec
    assert set(spec) == set(ALL_FEATURES)
    assert spec["input_ids"] == tf.TensorSpec([4, MAX_TOKENS], tf.int32)
    assert spec["masked_lm_weights"] == tf.TensorSpec([4, MAX_PREDICTIONS], tf.float32)
    assert spec["next_sentence_labels"] == tf.TensorSpec([4, 1], tf.int32)
    spec = read_batches(config_of(pattern, width=(4, 8), num_epochs=None)).element_spec
    assert spec["input_ids"].shape.as_list() == [4, None]
    assert spec["masked_lm_ids"].shape.as_list() == [4, MAX_PREDICTIONS]
    spec = read_batches(config_of(pattern)).element_spec
    assert spec["input_ids"].shape.as_list() == [None, None]
    assert {spec[name].dtype for name in INT_FEATURES} == {tf.int32}


def test_forms_and_names(patterns: dict[str, str]) -> None:
    pattern = patterns["ragged"]
    expected = dense(IN_ORDER, *widest(IN_ORDER))
    (batch,) = numpy_batches(config_of(pattern, 23, feature_names="tfhub"))
    names = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}
    assert_same_batch(batch, {names.get(name, name): v for name, v in expected.items()})

    inputs = ("input_ids", "input_mask", "segment_ids", "masked_lm_positions")
    outputs = ("masked_lm_ids", "masked_lm_weights", "next_sentence_labels")
    ((features, labels),) = numpy_batches(config_of(pattern, 23, form="supervised"))
    assert_same_batch(features, {name: expected[name] for name in inputs})
    assert_same_batch(labels, {name: expected[name] for name in outputs})

    ((features, labels, weights),) = numpy_batches(config_of(pattern, 23, form="fit"))
    assert_same_batch(features, {name: expected[name] for name in inputs})
    masked, following = expected["masked_lm_ids"], expected["next_sentence_labels"]
    assert_same_batch(labels, {"masked_lm": masked, "next_sentence": following})
    ones = np.ones(23, np.float32)
    masked_weights = expected["masked_lm_weights"]
    assert_same_batch(weights, {"masked_lm": masked_weights, "next_sentence": ones})


def test_a_keras_model_fits_on_it(patterns: dict[str, str]) -> None:
    inputs = {
        name: keras.Input([None], dtype="int32", name=name)
        for name in ("input_ids", "input_mask", "segment_ids", "masked_lm_positions")
    }
    embedded = keras.layers.Embedding(30522, 4)(inputs["input_ids"])
    pooled = keras.layers.GlobalAveragePooling1D()(embedded)
    at_positions = keras.layers.Embedding(64, 4)(inputs["masked_lm_positions"])
    outputs = {
        "masked_lm": keras.layers.Dense(30522)(at_positions),
        "next_sentence": keras.layers.Dense(2)(pooled),
    }
    model = keras.Model(inputs, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss={"masked_lm": loss, "next_sentence": loss})
    config = config_of(patterns["ragged"], form="fit", num_epochs=None, shuffle=True)
    data = read_batches(config)
    history = model.fit(data, epochs=2, steps_per_epoch=3, verbose=0, shuffle=False)
    assert np.isfinite(history.history["loss"]).all()


# Order.


def source_tokens(config: ReaderConfig) -> list[int]:
    groups = BatchSource(config).groups()
    return first_tokens(batch for group in groups for batch in batches_of(group))


@mostly_slow("buffer", [1, 2, 7, 100])
def test_shuffled_epochs_hold_each_record_once_in_new_orders(
    patterns: dict[str, str], buffer: int
) -> None:
    config = config_of(
        patterns["ragged"], 5, shuffle=True, shuffle_buffer=buffer, seed=3, num_epochs=4
    )
    tokens = first_tokens(numpy_batches(config))
    epochs = [tuple(tokens[i : i + 23]) for i in range(0, 92, 23)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(1, 24))] * 4
    assert len(set(epochs)) == 4
    assert list(range(1, 24)) not in [list(epoch) for epoch in epochs]
    assert tokens == first_tokens(numpy_batches(config))


def test_another_seed_is_another_order(patterns: dict[str, str]) -> None:
    orders = {
        tuple(source_tokens(config_of(patterns["ragged"], shuffle=True, seed=seed)))
        for seed in range(-2, 4)
    }
    assert len(orders) == 6


@pytest.mark.process
def test_another_process_sees_the_same_order(patterns: dict[str, str]) -> None:
    config = config_of(patterns["ragged"], shuffle=True, seed=9, num_epochs=2)
    program = (
        "from bert_data.reader.streamed import BatchSource\n"
        "from bert_data.reader import ReaderConfig\n"
        f"for group in BatchSource({config!r}).groups():\n"
        "    for begin, _, _, rows, width, *_ in group.table.tolist():\n"
        "        print(*group.words[begin : begin + rows * width])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    expected = [batch["input_ids"].ravel().tolist() for batch in numpy_batches(config)]
    assert [[int(i) for i in line.split()] for line in run.stdout.splitlines()] == expected


@mostly_slow("num_epochs", [3, None])
@mostly_slow("shuffle", [False, True])
def test_starting_at_any_batch_gives_the_rest(
    patterns: dict[str, str], shuffle: bool, num_epochs: int | None
) -> None:
    changes = {"shuffle": shuffle, "shuffle_buffer": 6, "num_epochs": num_epochs, "seed": 1}
    whole = list(
        itertools.islice(read_batches(config_of(patterns["ragged"], **changes)), 18)
    )  # 3 epochs of 23 records are 17 batches of 4 and one of 1
    assert len(whole) == 18
    for start in range(18):
        config = config_of(patterns["ragged"], start_batch=start, **changes)
        groups = BatchSource(config).groups()
        batches = (batch for group in groups for batch in batches_of(group))
        rest = list(itertools.islice(batches, 18 - start))
        assert len(rest) == 18 - start
        for batch, expected in zip(rest, whole[start:], strict=True):
            assert_same_batch(batch, {name: v.numpy() for name, v in expected.items()})
    (last,) = itertools.islice(
        read_batches(config_of(patterns["ragged"], start_batch=17, **changes)), 1
    )
    assert_same_batch(last, {name: v.numpy() for name, v in whole[17].items()})


def test_a_start_after_the_last_batch_is_refused_where_an_index_tells(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "a", make_instances(9))
    write_index(path)
    assert read_batches(config_of(str(path), start_batch=3)).cardinality() == 0
    with pytest.raises(ValueError, match="start_batch is 4, but there are 3 batches"):
        read_batches(config_of(str(path), start_batch=4))


@mostly_slow(("drop", "number"), [(False, 5), (True, 4)])
def test_a_stream_of_indexed_shards_tells_its_batches(
    tmp_path: Path, drop: bool, number: int
) -> None:
    path = write_shard(tmp_path / "train", INSTANCES)
    assert read_batches(config_of(str(path))).cardinality() == tf.data.UNKNOWN_CARDINALITY
    write_index(path, [len(instance.tokens) for instance in INSTANCES])
    choices = {"num_epochs": 2, "start_batch": 2, "drop_remainder": drop}
    dataset = read_batches(config_of(str(path), 7, **choices))
    assert len(list(dataset)) == dataset.cardinality() == number
    skipping = config_of(str(path), 7, **choices, skip_corrupt=True)
    assert read_batches(skipping).cardinality() == tf.data.UNKNOWN_CARDINALITY


def test_an_error_of_an_iteration_is_ours_without_our_traceback(patterns: dict[str, str]) -> None:
    dataset = read_batches(config_of(patterns["ragged"], start_batch=19, num_epochs=3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: start_batch is 19") as e:
        list(dataset)
    assert "streamed.py" not in str(e.value)


def test_batches_run_across_epochs_for_ever(patterns: dict[str, str]) -> None:
    dataset = read_batches(config_of(patterns["reference"], 10, num_epochs=None))
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    batches = list(itertools.islice(dataset.as_numpy_iterator(), 7))
    order = [instance.tokens[0] for instance in IN_ORDER]
    assert first_tokens(batches) == (order * 4)[:70]


def test_a_dataset_can_be_iterated_again_and_at_the_same_time(patterns: dict[str, str]) -> None:
    dataset = read_batches(config_of(patterns["ragged"], 3, shuffle=True))
    first, second = iter(dataset), iter(dataset)
    pairs = list(zip(first, second, strict=True))
    assert len(pairs) == 8
    assert all((a["input_ids"].numpy() == b["input_ids"].numpy()).all() for a, b in pairs)


class Groups:
    """A source of groups of batches of these shapes, whose words are numbered."""

    layout = layout_of(KIND, *PLANNED)
    static_shape = (None, None, None, 1)
    num_batches = UNKNOWN

    def __init__(
        self, groups: list[list[tuple[int, int, int, int]]], *, shapes_differ: bool
    ) -> None:
        self._groups, self.shapes_differ = groups, shapes_differ

    def groups(self) -> Iterator[BatchGroup]:
        for shapes in self._groups:
            table, num_words = make_table(shapes, self.layout, alone=self.shapes_differ)
            words = new_buffer(num_words)
            words[:] = np.arange(num_words) + len(shapes)
            yield BatchGroup(words, table)


SHAPES_OF_GROUPS = {
    "one batch": [[(3, 5, 2, 1)]],
    "one run": [[(2, 4, 1, 1)] * 3],
    "all differ": [[(2, width, 2, 1) for width in (16, 5, 9)]],
    "all kinds": [
        [(4, 9, 3, 1)] * 5 + [(16, 2, 1, 1)],
        [(1, 1, 1, 1), (2, 7, 2, 1)],
        [(1, 1, 0, 1)],
    ],
}


@mostly_slow("shapes_differ", [False, True])
@mostly_slow("shapes", SHAPES_OF_GROUPS.values(), ids=SHAPES_OF_GROUPS)
def test_groups_are_taken_apart(shapes: list, *, shapes_differ: bool) -> None:
    source = Groups(shapes, shapes_differ=shapes_differ)
    expected = [batch for group in source.groups() for batch in arrays_of(group, source.layout)]
    dataset = dataset_of_groups(source, lambda batch: (batch, batch["input_ids"][..., 0]))
    for actual, batch in zip(dataset.as_numpy_iterator(), expected, strict=True):
        assert_same_batch(actual[0], batch)
        assert (actual[1] == batch["input_ids"][..., 0]).all()


@pytest.mark.parametrize("layout", ["ragged", "reference"])
def test_with_tensorflow_alone(checkout, tmp_path, small_text, small_vocabulary, layout):
    """The pipeline of the guide gives the batches of an unshuffled stream."""
    page = (checkout / "docs" / "guides" / "reading.md").read_text(encoding="utf-8")
    section = page.partition("## With TensorFlow alone")[2]
    names: dict[str, Any] = {}
    exec(section.partition("```python\n")[2].partition("```")[0], names)
    bert_data.create_records(
        small_text, tmp_path / "set@2", vocab_file=small_vocabulary, record_layout=layout
    )
    pattern = str(tmp_path / "set-*")
    theirs = list(names["batches"](pattern, 8).as_numpy_iterator())
    config = ReaderConfig(input_patterns=pattern, batch_size=8)
    ours = list(read_batches(config).as_numpy_iterator())
    assert len(theirs) == len(ours) > 5
    for one, other in zip(theirs, ours, strict=True):
        assert one.keys() == other.keys()
        for name, values in one.items():
            np.testing.assert_array_equal(values, other[name], name)
    shuffled = list(names["batches"](pattern, 8, shuffle_buffer=100).as_numpy_iterator())
    rows = [sum(len(batch["input_ids"]) for batch in each) for each in (shuffled, theirs)]
    assert rows[0] == rows[1]
