"""Comparisons of batchings: equal to the batches that the reader makes."""

from pathlib import Path

import numpy as np
import pytest

from bert_data.inspection.configs import BatchingConfig, PlanSetConfig
from bert_data.inspection.set_plan import compare_batchings, lengths_of_histogram, plan_set
from bert_data.reader import ReaderConfig, iterate_arrays
from tests.inspection.making import MAX_LENGTH, make_records, write_set


@pytest.mark.parametrize("size", [{"batch_size": 8}, {"max_tokens_per_batch": 300}])
def test_batches_are_those_of_the_reader(size: dict[str, int], tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(150, 1))
    config = BatchingConfig(pool_batches=3, num_buckets=4, seed=5, **size)
    plan = plan_set(PlanSetConfig(input_patterns=pattern, batches=config))
    assert (plan.num_records, plan.config.max_seq_length) == (150, MAX_LENGTH)
    assert [batching.name for batching in plan.batchings] == [
        "max", "plain", "pools", "buckets", "packed",
    ]  # fmt: skip
    for batching in plan.batchings:
        options = eval(f"dict({batching.reader})")
        reader = ReaderConfig(input_patterns=pattern, shuffle=True, seed=5, **size, **options)
        shapes = [batch["input_ids"].shape for batch in iterate_arrays(reader)]
        widths = [width for _, width in shapes]
        assert batching.num_batches == len(shapes)
        assert batching.num_shapes == len(set(shapes))
        assert batching.num_padded == sum(rows * width for rows, width in shapes)
        assert batching.num_tokens == plan.num_tokens
        expected = (min(widths), max(widths), len(set(widths)))
        assert (batching.min_width, batching.max_width, batching.num_widths) == expected


def test_the_cost_of_attention_grows_with_the_square_of_the_width() -> None:
    lengths = np.array([10] * 100 + [600] * 100, np.uint32)
    config = BatchingConfig(batch_size=100, num_buckets=2, hidden_size=100)
    ways = {batching.name: batching for batching in compare_batchings(lengths, config)}
    cost_of_max = 200 * 600 * (1 + 600 / 600)
    cost = 100 * 10 * (1 + 10 / 600) + 100 * 600 * 2
    assert ways["buckets"].speed == pytest.approx(cost_of_max / cost)
    assert ways["max"].speed == 1
    assert ways["packed"].speed > 1.9


def test_compressed_shards_can_only_be_streamed(tmp_path: Path) -> None:
    import gzip

    pattern = write_set(tmp_path, make_records(50, 1), num_shards=1)
    (tmp_path / "manifest.train.json").unlink()
    shard = next(tmp_path.glob("train-*"))
    shard.write_bytes(gzip.compress(shard.read_bytes()))
    plan = plan_set(PlanSetConfig(input_patterns=pattern, batches=BatchingConfig(batch_size=8)))
    assert plan.why_stream == f"{shard} is compressed"
    assert [(way.name, way.flags) for way in plan.batchings] == [
        ("max", "--batching=stream --width=max"),
        ("stream", "--batching=stream"),
    ]
    assert plan.num_records == 50


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="batch_size is None and max_tokens_per_batch is None"):
        BatchingConfig()
    with pytest.raises(ValueError, match="there are no records"):
        compare_batchings(np.zeros(0, np.uint32), BatchingConfig(batch_size=8))


def test_lengths_from_a_histogram() -> None:
    assert lengths_of_histogram(np.array([0, 2, 0, 1]), 10).tolist() == [1, 1, 3]
    many = lengths_of_histogram(np.array([0, 200, 100]), 30)
    assert np.bincount(many).tolist() == [0, 20, 10]
    assert lengths_of_histogram(np.zeros(1, np.int64), 30).size == 0
