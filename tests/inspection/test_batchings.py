"""Comparisons of batchings: equal to the batches that the reader makes."""

import io
from pathlib import Path

import numpy as np
import pytest

from bert_data.inspection.batchings import compare_batchings, lengths_of_histogram, show_batchings
from bert_data.inspection.sources.instances import InstanceSource
from bert_data.inspection.terminal import Terminal
from bert_data.reader import ReaderConfig, iterate_arrays
from tests.inspection.looking import open_path
from tests.inspection.making import MAX_LENGTH, make_records, write_set

WAYS = ("max", "plain", "pools", "buckets", "packed")


def open_set(pattern: str) -> InstanceSource:
    source = open_path(pattern)
    assert isinstance(source, InstanceSource)
    return source


@pytest.mark.parametrize("batch_size", [8, 32])
def test_batches_are_those_of_the_reader(batch_size: int, tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(150, 1))
    lengths, damage = open_set(pattern).first_lengths(150)
    assert damage is None
    batchings = compare_batchings(
        lengths.astype(np.uint32), batch_size=batch_size, max_seq_length=MAX_LENGTH
    )
    assert [batching.name for batching in batchings] == [*WAYS]
    for batching in batchings:
        way = {"width": "max"} if batching.name == "max" else {"batching": batching.name}
        reader = ReaderConfig(
            input_patterns=pattern, batch_size=batch_size, shuffle=True, drop_remainder=False, **way
        )
        shapes = [batch["input_ids"].shape for batch in iterate_arrays(reader)]
        widths = [width for _, width in shapes]
        assert batching.num_batches == len(shapes)
        assert batching.num_shapes == len(set(shapes))
        assert batching.num_padded == sum(rows * width for rows, width in shapes)
        assert batching.num_tokens == lengths.sum()
        expected = (min(widths), max(widths), len(set(widths)))
        assert (batching.min_width, batching.max_width, batching.num_widths) == expected


def test_the_cost_of_attention_grows_with_the_square_of_the_width() -> None:
    lengths = np.array([10] * 100 + [600] * 100, np.uint32)
    ways = {batching.name: batching for batching in compare_batchings(lengths, batch_size=100)}
    cost_of_max = 200 * 600 * (1 + 600 / (6 * 768))
    cost = 100 * 10 * (1 + 10 / (6 * 768)) + 100 * 600 * (1 + 600 / (6 * 768))
    assert ways["buckets"].speed == pytest.approx(cost_of_max / cost)
    assert ways["max"].speed == 1
    assert compare_batchings(np.zeros(0, np.uint32), batch_size=8) == []


@pytest.mark.parametrize("damage", [False, True])
def test_five_lines_of_a_set(damage: bool, tmp_path: Path) -> None:
    lengths = [len(record["input_ids"]) for record in make_records(50, 1)]
    pattern = write_set(tmp_path, make_records(50, 1), num_shards=1)
    if damage:
        shard = next(tmp_path.glob("train-*"))
        shard.write_bytes(shard.read_bytes()[:-1])
        lengths.pop()
    output = io.StringIO()
    assert show_batchings(Terminal(output), open_set(pattern)) == damage
    first, *lines = output.getvalue().splitlines()
    if damage:
        assert first.startswith(f"  damaged  {shard}: record 49, byte offset")
        assert first.endswith("of a record; bert-data check counts what is lost")
        first, *lines = lines
    spread = f"  lengths  {min(lengths)} to {max(lengths)} tokens, {np.mean(lengths):.1f} on"
    assert first == f"{spread} average of {len(lengths)} records; in batches of 32 rows:"
    assert [line.split()[0] for line in lines] == [*WAYS[1:]]
    assert all(line.endswith("% padding") for line in lines)


def test_lengths_from_a_histogram() -> None:
    assert lengths_of_histogram(np.array([0, 2, 0, 1]), 10).tolist() == [1, 1, 3]
    many = lengths_of_histogram(np.array([0, 200, 100]), 30)
    assert np.bincount(many).tolist() == [0, 20, 10]
    assert lengths_of_histogram(np.zeros(1, np.int64), 30).size == 0
