"""Hosts and replicas: each reads its part of a stream, and all parts together are the whole."""

import dataclasses
import itertools
from pathlib import Path

import pytest
import tensorflow as tf

from bert_data.reader import read_batches
from bert_data.reader import streamed as reader_batches
from bert_data.reader.files.blocks import read_blocks
from bert_data.reader.streamed import BatchSource
from tests.reader.making import (
    first_tokens,
    frame_offsets,
    make_instances,
    write_index,
    write_shard,
    write_shards,
)
from tests.reader.test_tensors import IN_ORDER, INSTANCES, config_of, numpy_batches, source_tokens
from tests.rows import mostly_slow


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_shards(tmp_path_factory.mktemp("ragged"), 5, INSTANCES)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("num_hosts", [2, 3, 5, 8])
def test_hosts_are_disjoint_and_complete(pattern: str, num_hosts: int, shuffle: bool) -> None:
    parts = [
        source_tokens(config_of(pattern, shuffle=shuffle, num_hosts=num_hosts, host_index=host))
        for host in range(num_hosts)
    ]
    assert sorted(itertools.chain(*parts)) == list(range(1, 24))
    assert min(map(len, parts)) >= 1


@mostly_slow("is_told", [False, True])
@mostly_slow("num_hosts", [1, 3, 5])
def test_a_host_passes_over_whole_epochs_without_reading_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_hosts: int, is_told: bool
) -> None:
    pattern = write_shards(tmp_path, 5, INSTANCES)
    config = config_of(pattern, shuffle=True, num_hosts=num_hosts, num_epochs=30)
    if is_told:
        for path in sorted(tmp_path.glob("part-*")):
            write_index(path)
    else:  # and a record is left out
        config = dataclasses.replace(config, skip_corrupt=True)
        path = tmp_path / "part-00002-of-00005"
        data = bytearray(path.read_bytes())
        data[frame_offsets(path)[1] + 20] ^= 1
        path.write_bytes(data)
    opened: list[str] = []
    monkeypatch.setattr(
        reader_batches, "read_blocks", lambda s, d: opened.append(s.path) or read_blocks(s, d)
    )
    for host in range(num_hosts):
        mine = dataclasses.replace(config, host_index=host)
        whole = source_tokens(mine)
        num_records, start = len(whole) // 30, len(whole) // 4 - 3
        assert BatchSource(mine).num_records() == (num_records if is_told else None)
        opened.clear()
        assert source_tokens(dataclasses.replace(mine, start_batch=start)) == whole[4 * start :]
        epochs_left = -(-(len(whole) - 4 * start) // num_records)
        assert len(opened) <= 5 * (epochs_left + (not is_told))


def test_a_host_without_a_record_is_told(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "one", make_instances(1))
    config = config_of(str(path), num_hosts=2, host_index=1)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"no records in .*one for host 1 of 2"
    ):
        numpy_batches(config)


@pytest.mark.slow
def test_input_context_gives_each_replica_its_part(pattern: str) -> None:
    def read(pipeline: int) -> list[int]:
        context = tf.distribute.InputContext(
            num_input_pipelines=2, input_pipeline_id=pipeline, num_replicas_in_sync=4
        )
        config = config_of(pattern, 8, start_batch=1)
        batches = list(read_batches(config, input_context=context).as_numpy_iterator())
        assert len(batches[0]["input_ids"]) == 2
        return first_tokens(batches)

    # Five shards are not two hosts' to share evenly, so each takes every other record. A host feeds
    # two replicas with two rows each, so one global batch is four of its rows.
    host_rows = [
        [i.tokens[0] for s in range(5) for n, i in enumerate(INSTANCES[s::5]) if (n + s) % 2 == h]
        for h in (0, 1)
    ]
    assert [read(0), read(1)] == [host_rows[0][4:], host_rows[1][4:]]


def test_mirrored_strategy_takes_the_dataset(pattern: str) -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    config = config_of(pattern, 4)
    distributed = strategy.distribute_datasets_from_function(
        lambda context: read_batches(config, input_context=context)
    )
    tokens = first_tokens(distributed)
    assert tokens == [instance.tokens[0] for instance in IN_ORDER]
