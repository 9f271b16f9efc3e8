"""The place in records: behind what was read, whatever the sizes of batches were."""

import dataclasses
import json
import logging
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.reader import describe_order
from bert_data.training.checkpoints import Checkpoint, save_checkpoint
from bert_data.training.record_reading import READ_BEFORE, RecordReading
from bert_data.training.state import DESCRIPTION, DataPlace
from tests.reader.making import MAX_PREDICTIONS, write_shard, write_shards
from tests.reader.planned_making import INSTANCES, config_of, rows_of

PLAIN = {"batching": "plain"}
MODES = {
    "plain": PLAIN,
    "pools": {"batching": "pools", "pool_batches": 2},
    "buckets": {"batching": "buckets", "num_buckets": 2},
    "packed": {"batching": "packed"},
    "stream": {"batching": "stream", "drop_remainder": True},
    "tokens": {"batching": "pools", "max_tokens_per_batch": 40},
}


def reading_of(pattern: str, batch_size: int, num_hosts: int = 1, **mode: object) -> RecordReading:
    """As a run of so many hosts has it; max_tokens_per_batch is for each of `batch_size`."""
    bound = {"batch_size": batch_size}
    if tokens := mode.get("max_tokens_per_batch"):
        bound = {"batch_size": None, "max_tokens_per_batch": tokens * batch_size}
    config = config_of(
        pattern, **{**mode, **bound}, num_epochs=None, seed=3,
        max_predictions_per_seq=MAX_PREDICTIONS,
    )  # fmt: skip
    counted = 1 if config.is_planned and config.batch_size else num_hosts
    return RecordReading(config, describe_order(dataclasses.replace(config, num_hosts=counted)))


def read(reading: RecordReading, num_batches: int, num_hosts: int = 1) -> list[int]:
    """The numbers of the records of so many batches, of all hosts."""
    numbers = []
    for host in range(num_hosts):
        context = tf.distribute.InputContext(num_hosts, host, num_hosts)
        batches = reading.make_batches(reading.first_batch, context)
        for batch in batches.take(num_batches).as_numpy_iterator():
            weights = np.ones_like(batch["input_ids"][:, :1])
            batch = {"next_sentence_weights": weights, **batch}
            numbers += [each.tokens[0] for row in rows_of(batch) for each in row]
    return numbers


def restored(place: DataPlace, num_read: int, reading: RecordReading, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    save_checkpoint(str(folder), 1, place.values(num_read), num_kept=1)
    reading.restore(Checkpoint(str(folder)))


@pytest.mark.parametrize("num_hosts", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_each_record_of_an_epoch_comes_once(tmp_path, mode, num_hosts):
    """Batches of 4, of twice as many, of half as many, and of 3/2: 8 of each."""
    pattern = write_shards(tmp_path, 4, INSTANCES)
    numbers, place = [], None
    for batch_size in (4, 8, 2, 6, 6):
        reading = reading_of(pattern, batch_size, num_hosts, **MODES[mode])
        if place is not None:
            restored(place, 8, reading, tmp_path / "out")
        numbers += read(reading, 8, num_hosts)
        place = reading
    counts = Counter(numbers)
    assert counts.keys() == {instance.tokens[0] for instance in INSTANCES}
    # Of a stream, each host repeats its own records.
    most_apart = num_hosts if mode == "stream" else 1
    assert max(counts.values()) - min(counts.values()) <= most_apart
    assert min(counts.values()) > 4
    if num_hosts == 1:  # else hosts are read one after the other
        for start in range(0, len(numbers) - len(INSTANCES) + 1, len(INSTANCES)):
            assert len({*numbers[start : start + len(INSTANCES)]}) == len(INSTANCES)


def test_a_stream_in_order_goes_on_at_its_next_record(tmp_path):
    pattern = write_shards(tmp_path, 2, INSTANCES)
    mode = {"batching": "stream", "shuffle": False, "drop_remainder": True}
    first, second = reading_of(pattern, 4, **mode), reading_of(pattern, 3, **mode)
    numbers = read(first, 3)
    restored(first, 3, second, tmp_path / "out")
    whole = read(reading_of(pattern, 1, **mode), 30)
    assert numbers + read(second, 6) == whole
    third = reading_of(pattern, 3, **mode)
    restored(second, 6, third, tmp_path / "out")
    assert third.first_batch == 6
    assert read(third, 1) == read(reading_of(pattern, 1, **mode), 33)[30:]


def test_checkpoints_of_before_name_no_other_sizes(tmp_path, caplog):
    """What a release wrote that began anew; a line of the log says what is read now."""
    pattern = write_shards(tmp_path, 2, INSTANCES)
    reading = reading_of(pattern, 4, **PLAIN)
    description = json.loads(str(reading.values(0)[DESCRIPTION]))
    del description["plan_version"]
    again = reading_of(pattern, 8, **PLAIN)
    with caplog.at_level(logging.WARNING):
        restored(DataPlace(json.dumps(description)), 3, again, tmp_path / "out")
    assert "(batch_size was 4 and is 8): reading goes on behind the records" in caplog.text
    assert "plan_version" not in caplog.text
    assert again.first_batch == 0
    assert len({*read(reading, 3), *read(again, 1)}) == 20
    same = reading_of(pattern, 4, **PLAIN)
    restored(DataPlace(json.dumps(description)), 3, same, tmp_path / "out")
    assert same.first_batch == 3 and READ_BEFORE not in same.values(0)


@pytest.mark.parametrize(
    "change", [{"batching": "pools"}, {"seed": 4}, {"shuffle": False}, {"batching": "stream"}]
)
def test_other_orders_begin_anew(tmp_path, change, caplog):
    pattern = write_shards(tmp_path, 2, INSTANCES)
    first = reading_of(pattern, 4, **PLAIN)
    config = config_of(pattern, 8, **{**PLAIN, "seed": 3, **change}, num_epochs=None)
    other = RecordReading(config, describe_order(config))
    restored(first, 3, other, tmp_path / "out")
    assert "reading starts at the beginning (" in caplog.text
    assert other.first_batch == 0 and READ_BEFORE not in other.values(0)


def test_other_records_begin_anew(tmp_path, caplog):
    paths = [str(write_shard(tmp_path / name, INSTANCES[:n])) for name, n in (("a", 20), ("b", 9))]
    first, other = reading_of(paths[0], 4, **PLAIN), reading_of(paths[1], 2, **PLAIN)
    restored(first, 3, other, tmp_path / "out")
    assert "reading starts at the beginning (" in caplog.text


def test_descriptions_that_are_no_order_begin_anew(tmp_path, caplog):
    reading = reading_of(write_shards(tmp_path, 2, INSTANCES), 4, **PLAIN)
    for description in ("text", "[1]", ""):
        restored(DataPlace(description), 3, reading, tmp_path / "out")
        assert "reading starts at the beginning (" in caplog.text
        caplog.clear()
