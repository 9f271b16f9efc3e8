"""Planned batches: values, each record once, any start, any number of hosts, refusals."""

import dataclasses
import itertools
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader import (
    ReaderConfig,
    block_diagonal_mask,
    describe_order,
    iterate_batches,
    read_batches,
)
from bert_data.reader.sources import make_source
from tests.hypotheses import examples
from tests.reader.making import (
    MAX_PREDICTIONS,
    MAX_TOKENS,
    assert_same_batch,
    first_tokens,
    packed_rows,
    widest,
    write_index,
    write_shard,
    write_shards,
)
from tests.reader.planned_making import INSTANCES, batches_of, config_of, plain_rows, rows_of

IN_ORDER = [instance for shard in range(5) for instance in INSTANCES[shard::5]]
MODES: dict[str, dict[str, Any]] = {
    "plain": {"batching": "plain"},
    "pools": {"batching": "pools", "pool_batches": 2},
    "buckets": {"batching": "buckets", "num_buckets": 2},
    "packed": {"batching": "packed"},
    "tokens": {"batching": "pools", "batch_size": None, "max_tokens_per_batch": 100},
    "packed tokens": {"batching": "packed", "batch_size": None, "max_tokens_per_batch": 100},
}


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Five shards of `INSTANCES`: ragged with indexes, padded without."""
    pattern_of = {}
    for layout in ("ragged", "reference"):
        folder = tmp_path_factory.mktemp(layout)
        pattern_of[layout] = write_shards(folder, 5, INSTANCES, layout)
    for shard, path in enumerate(sorted(Path(pattern_of["ragged"]).parent.glob("part-*"))):
        write_index(path, [len(instance.tokens) for instance in INSTANCES[shard::5]])
    return pattern_of


@pytest.mark.slow
@examples(60)
@given(st.data())
def test_batches_equal_those_made_one_number_at_a_time(
    patterns: dict[str, str], data: st.DataObject
) -> None:
    mode = dict(data.draw(st.sampled_from(list(MODES.values()))))
    if "batch_size" not in mode:
        mode["batch_size"] = data.draw(st.integers(1, 25))
    config = config_of(
        patterns[data.draw(st.sampled_from(("ragged", "reference")))],
        **mode,
        seed=data.draw(st.integers(-3, 3)),
        shuffle=data.draw(st.booleans()),
        num_epochs=2,
        max_predictions_per_seq=MAX_PREDICTIONS,
    )
    is_packed = config.batching == "packed"
    tokens = []
    for batch in batches_of(config):
        rows = rows_of(batch)
        tokens += [instance.tokens[0] for row in rows for instance in row]
        num_rows, width = batch["input_ids"].shape
        if config.max_tokens_per_batch is not None:
            assert num_rows * width <= config.max_tokens_per_batch
        else:
            assert num_rows <= config.batch_size
        longest = max(len(instance.tokens) for row in rows for instance in row)
        if config.batching in ("plain", "pools"):
            assert width == longest
        if not is_packed:
            _, predictions = widest([row[0] for row in rows])
            if config.batching == "buckets":
                predictions = MAX_PREDICTIONS
            assert_same_batch(batch, plain_rows(rows, width, predictions))
            continue
        assert width == MAX_TOKENS
        predictions = max(1, *(sum(len(i.positions) for i in row) for row in rows), 1)
        expected = packed_rows(rows, width, predictions, max(map(len, rows)))
        assert_same_batch(batch, expected)
    for epoch in (tokens[:23], tokens[23:]):
        assert sorted(epoch) == list(range(1, 24))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("num_hosts", [1, 2, 3, 8])
def test_any_start_and_any_number_of_hosts(
    patterns: dict[str, str], name: str, num_hosts: int
) -> None:
    """Every batch from every start (of hosts, some), and the hosts' rows together."""
    changes = {**MODES[name], "num_epochs": 3, "seed": 5}
    config = config_of(patterns["ragged"], **changes)
    if num_hosts > 1:
        config = dataclasses.replace(config, max_predictions_per_seq=MAX_PREDICTIONS)
    hosts = [
        list(batches_of(dataclasses.replace(config, num_hosts=num_hosts, host_index=host)))
        for host in range(num_hosts)
    ]
    per_epoch, left = divmod(len(hosts[0]), 3)
    assert not left
    tokens = []
    for parts in zip(*hosts, strict=True):
        shapes = [{name: array.shape for name, array in part.items()} for part in parts]
        assert all(shape == shapes[0] for shape in shapes)
        rows = [row for part in parts for row in rows_of(part)]
        tokens.append([instance.tokens[0] for row in rows for instance in row])
    epochs = [
        list(itertools.chain(*tokens[i : i + per_epoch]))
        for i in range(0, 3 * per_epoch, per_epoch)
    ]
    assert [sorted(epoch) for epoch in epochs] == [list(range(1, 24))] * 3
    assert len({tuple(epoch) for epoch in epochs}) == 3
    if config.max_tokens_per_batch is None:
        whole = list(batches_of(config))
        assert tokens == [[i.tokens[0] for row in rows_of(b) for i in row] for b in whole]
    starts = range(0, 3 * per_epoch, 1 if num_hosts == 1 else 4)
    for start, host in itertools.product(starts, range(num_hosts)):
        mine = dataclasses.replace(config, num_hosts=num_hosts, host_index=host, start_batch=start)
        rest = list(batches_of(mine))
        assert len(rest) == 3 * per_epoch - start
        for batch, expected in zip(rest, hosts[host][start:], strict=True):
            assert_same_batch(batch, expected)


def test_a_start_after_the_last_batch_is_refused(patterns: dict[str, str]) -> None:
    config = config_of(patterns["ragged"], batching="pools", num_epochs=2)
    count = len(list(batches_of(config)))
    assert list(batches_of(dataclasses.replace(config, start_batch=count))) == []
    expected = f"start_batch is {count + 1}, but there are {count} batches"
    with pytest.raises(ValueError, match=expected):
        read_batches(dataclasses.replace(config, start_batch=count + 1))


def test_it_starts_in_a_later_epoch_without_reading_what_is_before(
    patterns: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bert_data.reader.planning import Plan

    planned: list[int] = []
    epoch = Plan.epoch
    monkeypatch.setattr(Plan, "epoch", lambda self, n: planned.append(n) or epoch(self, n))
    config = config_of(patterns["ragged"], batching="pools", num_epochs=None)
    later = dataclasses.replace(config, start_batch=6 * 1_000_000 + 2)
    (batch, *_) = itertools.islice(batches_of(later), 1)
    assert planned == [1_000_000]
    assert len(batch["input_ids"]) == 4


@pytest.mark.parametrize("batching", ["plain", "pools", "buckets", "packed"])
def test_a_dataset_knows_how_many_batches_it_has(patterns: dict[str, str], batching: str) -> None:
    config = config_of(patterns["reference"], batching=batching, num_epochs=2, start_batch=1)
    assert read_batches(config).cardinality() == len(list(batches_of(config)))
    endless = read_batches(dataclasses.replace(config, num_epochs=None))
    assert endless.cardinality() == tf.data.INFINITE_CARDINALITY


def test_packed_rows_may_be_wider_than_records(patterns: dict[str, str]) -> None:
    config = config_of(patterns["ragged"], batching="packed", width="batch")
    config = dataclasses.replace(
        config, width=(3 * MAX_TOKENS,), max_predictions_per_seq=MAX_PREDICTIONS
    )
    batches = list(batches_of(config))
    rows = [row for batch in batches for row in rows_of(batch)]
    assert {batch["input_ids"].shape[1] for batch in batches} == {3 * MAX_TOKENS}
    assert sum(map(len, rows)) == 23
    assert max(map(len, rows)) >= 4


def test_specs_are_as_static_as_the_plan_allows(patterns: dict[str, str]) -> None:
    def shapes(**changes: Any) -> list[list[int | None]]:
        config = config_of(patterns["reference"], drop_remainder=True, **changes)
        spec = read_batches(config).element_spec
        names = ("input_ids", "masked_lm_ids", "next_sentence_weights")
        return [spec[name].shape.as_list() for name in names]

    assert shapes(batching="pools") == [[4, None], [4, None], [4, 1]]
    assert shapes(batching="pools", width="max") == [[4, 12], [4, 4], [4, 1]]
    assert shapes(batching="buckets") == [[4, None], [4, 4], [4, 1]]
    assert shapes(batching="packed") == [[4, 12], [4, None], [4, None]]
    (tokens, predictions, instances) = shapes(batching="packed", width="max", num_hosts=3)
    assert (tokens, predictions) == ([2, 12], [2, None])
    assert instances[0] == 2 and instances[1] is not None
    config = config_of(patterns["reference"], batching="packed", width="max", shuffle=False)
    for batch in read_batches(config).as_numpy_iterator():
        assert batch["masked_lm_ids"].shape[1] % MAX_PREDICTIONS == 0


@pytest.mark.parametrize("batching", ["pools", "packed"])
def test_forms(patterns: dict[str, str], batching: str) -> None:
    config = config_of(patterns["ragged"], batching=batching)
    (expected, *_) = batches_of(config)
    labels = ("masked_lm_ids", "masked_lm_weights", "next_sentence_labels")
    outputs = (*labels, "next_sentence_weights")
    inputs = {name: expected[name] for name in expected if name not in outputs}
    (batch, *_) = iterate_batches(dataclasses.replace(config, form="supervised"))
    assert_same_batch(batch[0], inputs)
    assert_same_batch(batch[1], {name: expected[name] for name in outputs})
    (batch, *_) = iterate_batches(dataclasses.replace(config, form="fit"))
    assert_same_batch(batch[0], inputs)
    following = expected["next_sentence_labels"]
    assert_same_batch(
        batch[1], {"masked_lm": expected["masked_lm_ids"], "next_sentence": following}
    )
    weights = expected["next_sentence_weights"]
    weights = weights if batching == "packed" else weights[:, 0]
    assert_same_batch(
        batch[2], {"masked_lm": expected["masked_lm_weights"], "next_sentence": weights}
    )


def test_each_replica_takes_its_rows_of_the_global_batch(patterns: dict[str, str]) -> None:
    config = config_of(
        patterns["ragged"], 8, batching="pools", start_batch=1,
        max_predictions_per_seq=MAX_PREDICTIONS,
    )  # fmt: skip

    def read(pipeline: int) -> list[dict[str, np.ndarray]]:
        context = tf.distribute.InputContext(
            num_input_pipelines=2, input_pipeline_id=pipeline, num_replicas_in_sync=4
        )
        return list(read_batches(config, input_context=context).as_numpy_iterator())

    hosts = [read(0), read(1)]
    for number, whole in enumerate(batches_of(config)):
        parts = [part for host in hosts for part in host[2 * number : 2 * number + 2]]
        assert {part["input_ids"].shape[1] for part in parts} == {whole["input_ids"].shape[1]}
        for name in whole:
            assert len({part[name].shape for part in parts}) == 1, name
        assert first_tokens([whole]) == [n for n in first_tokens(parts) if n]


def test_the_mask_of_packed_rows() -> None:
    mask = block_diagonal_mask(tf.constant([[1, 1, 2, 0], [1, 0, 0, 0]])).numpy()
    first = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    second = [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert mask.tolist() == [first, second]
    assert mask.dtype == np.int32


# What cannot be planned.


def test_shards_without_index_are_scanned_and_that_is_said(
    patterns: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copies = tmp_path / "copies"  # of which this process has no index yet
    shutil.copytree(Path(patterns["reference"]).parent, copies)
    with caplog.at_level(logging.INFO, logger="absl"):
        make_source(config_of(f"{copies}/part-*", batching="plain"))
    assert [message for message in caplog.messages if "no index for 5 of 5 shards" in message]


def test_compressed_shards_are_streamed_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_shard(tmp_path / "train", INSTANCES, compression="GZIP")
    config = config_of(str(path), batching="pools")
    with caplog.at_level(logging.WARNING, logger="absl"):
        tokens = first_tokens(iterate_batches(config))
    assert sorted(tokens) == list(range(1, 24))
    assert [m for m in caplog.messages if f"{path} is compressed: batching=pools" in m]
    stream = dataclasses.replace(config, batching="stream")
    assert describe_order(config) == describe_order(stream)
    hosts = [dataclasses.replace(config, num_hosts=2, host_index=host) for host in (0, 1)]
    parts = [first_tokens(iterate_batches(host)) for host in hosts]
    assert sorted(itertools.chain(*parts)) == list(range(1, 24))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"batching": "packed"},
            "batching is 'packed', but .* is compressed; it needs uncompressed",
        ),
        (
            {"batching": "pools", "batch_size": None, "max_tokens_per_batch": 99},
            "max_tokens_per_batch is 99, but .* is compressed; it needs uncompressed",
        ),
        ({"batching": "buckets"}, "batching is 'buckets', but .*; give the widths"),
        ({"batching": "pools", "num_hosts": 3}, "batch_size is 4; a multiple of num_hosts, 3"),
    ],
)
def test_what_streams_cannot_do_is_refused(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    path = write_shard(tmp_path / "train", INSTANCES, compression="GZIP")
    with pytest.raises(ValueError, match=sentence):
        make_source(config_of(str(path), **changes))


def test_records_that_are_too_long_are_refused(patterns: dict[str, str]) -> None:
    config = config_of(patterns["ragged"], batching="plain", max_seq_length=5)
    with pytest.raises(ValueError, match="max_seq_length is 5, but"):
        make_source(config)
    with pytest.raises(ValueError, match=r"vocab_size is 40, but a record of .* holds"):
        list(iterate_batches(config_of(patterns["ragged"], batching="packed", vocab_size=40)))


def test_the_description_tells_what_a_plan_depends_on(patterns: dict[str, str]) -> None:
    config = config_of(patterns["ragged"], batching="pools")

    def differs(**changes: Any) -> bool:
        return describe_order(dataclasses.replace(config, **changes)) != describe_order(config)

    assert not differs(num_hosts=2)
    assert not differs(width="max")
    assert not differs(shuffle_buffer=9)
    for changes in (
        {"batching": "plain"}, {"pool_batches": 3}, {"batch_size": 5}, {"seed": 9},
        {"batching": "stream"}, {"batch_size": None, "max_tokens_per_batch": 60},
    ):  # fmt: skip
        assert differs(**changes)
    config = dataclasses.replace(config, batching="buckets")
    assert differs(num_buckets=3)
    assert differs(width=(5, 9))


@pytest.mark.parametrize("batching", ["pools", "packed"])
def test_parts_of_batches_need_to_know_the_predictions(tmp_path: Path, batching: str) -> None:
    """Other hosts' records are not read, so their predictions must follow from their lengths."""
    pattern = write_shards(tmp_path, 2, INSTANCES)
    config = ReaderConfig(
        input_patterns=pattern, batch_size=4, batching=batching, max_seq_length=MAX_TOKENS,
        num_hosts=2,
    )  # fmt: skip
    with pytest.raises(ValueError, match="max_predictions_per_seq is None; it must be given where"):
        make_source(config)
    known = dataclasses.replace(config, max_predictions_per_seq=MAX_PREDICTIONS)
    assert make_source(known).num_batches
