"""Padding of every way to make batches, and the speed of planning them, as Markdown.

    python benchmarks/padding.py > benchmarks/results/padding.md

The records are those of ../shared/data/corpora/movie_reviews.txt, ragged, at most 128 and at most
512 tokens long, made with dupe_factor 5; a batch has 32 rows. The padding of a way is the share of
positions in all batches, rows times width, that hold no token: the mean of epochs 0 to 2, shuffled.
Only the lengths in the indexes are read. Ways:

* fixed: every row as wide as the longest record allowed, as in the reference.
* per-batch maximum: a batch is as wide as its longest row; records in shuffled order.
* pools of 16 and of 64 batches, sorted by length, batches mixed.
* buckets: static widths, 4 and 8, chosen from the lengths.
* packed: several records per row. The usual peer is first-fit: each record, in order, goes into the
  first row that has room, over the whole set.

Planning is timed by the CPU seconds of one epoch, shuffle included, on one core: the median of the
epochs after the first, for the records above and for 10 million lengths drawn from them. What a
plan of all epochs takes once is in the column "plan, once".
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import numpy as np  # noqa: E402
from machine import describe_machine  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from bert_data.reader.planning import Plan, PlanConfig, make_plan  # noqa: E402

DATA = CHECKOUT.parent / "shared" / "data"
BATCH_SIZE, NUM_EPOCHS = 32, 3
LARGE = 10_000_000
PREDICTIONS = {128: 20, 512: 77}


def ways(max_seq_length: int) -> dict[str, PlanConfig]:
    choices: dict[str, dict[str, Any]] = {
        "fixed": {"width": "max"},
        "per-batch maximum": {},
        "pools of 16": {"batching": "pools", "pool_batches": 16},
        "pools of 64": {"batching": "pools", "pool_batches": 64},
        "4 buckets": {"batching": "buckets", "num_buckets": 4},
        "8 buckets": {"batching": "buckets", "num_buckets": 8},
        "packed": {"batching": "packed"},
    }
    shared: dict[str, Any] = {
        "batch_size": BATCH_SIZE,
        "max_seq_length": max_seq_length,
        "shuffle": True,
        "seed": 12345,
    }
    return {name: PlanConfig(**shared, **chosen) for name, chosen in choices.items()}


def make_lengths(max_seq_length: int) -> NDArray[np.uint32]:
    """Makes the records and returns their lengths, as the indexes tell them."""
    from bert_data.records.instances.instance_config import InstanceConfig
    from bert_data.records.sets.creating import create_dataset
    from bert_data.records.sets.dataset_config import DatasetConfig

    with tempfile.TemporaryDirectory() as folder:
        create_dataset(
            DatasetConfig(
                input_file=str(DATA / "corpora" / "movie_reviews.txt"),
                output_file=f"{folder}/train@4",
                vocab_file=str(DATA / "vocab" / "bert-base-uncased.txt"),
                instances=InstanceConfig(
                    dupe_factor=5,
                    max_seq_length=max_seq_length,
                    max_predictions_per_seq=PREDICTIONS[max_seq_length],
                ),
                num_examples=0,
            )
        )
        indexes = sorted(Path(folder).glob("index.train-*.npy"))
        assert len(indexes) == 4
        return np.concatenate([np.load(path)["num_tokens"][:-1] for path in indexes])


def first_fit(lengths: NDArray[np.uint32], width: int) -> int:
    """Rows of first-fit: a tree over the rows' rooms finds the first with enough of it."""
    size = 1 << (lengths.size - 1).bit_length()
    rooms = [width] * (2 * size)
    for length in lengths.tolist():
        node = 1
        while node < size:
            node = 2 * node if rooms[2 * node] >= length else 2 * node + 1
        rooms[node] -= length
        while node > 1:
            node >>= 1
            rooms[node] = max(rooms[2 * node], rooms[2 * node + 1])
    return sum(room < width for room in rooms[size:])


def padding_of(plan: Plan) -> float:
    padded = sum(plan.epoch(number).num_padded_tokens for number in range(NUM_EPOCHS))
    return 1 - NUM_EPOCHS * plan.num_tokens / padded


def seconds_of(lengths: NDArray[np.uint32], config: PlanConfig, rounds: int) -> tuple[float, float]:
    """CPU seconds of the plan that all epochs share and, the median, of an epoch."""
    start = time.process_time()
    plan = make_plan(lengths, config)
    once, epochs = time.process_time() - start, []
    for number in range(rounds + 1):
        start = time.process_time()
        plan.epoch(number)
        epochs.append(time.process_time() - start)
    return once, statistics.median(epochs[1:])


def table_of(lengths: NDArray[np.uint32], max_seq_length: int, rounds: int) -> list[str]:
    """The rows of the table for records of this length."""
    large = np.random.default_rng(0).choice(lengths, LARGE)
    lines = []
    for name, config in ways(max_seq_length).items():
        plan = make_plan(lengths, config)
        widths = "any" if plan.widths is None else ", ".join(map(str, plan.widths))
        seconds_of(lengths, config, 1)  # loads the kernels
        _, seconds = seconds_of(lengths, config, rounds)
        once, large_seconds = seconds_of(large, config, rounds)
        lines.append(
            f"| {max_seq_length} | {name} | {padding_of(plan):.2%} | {plan.num_batches:,} "
            f"| {widths} "
            f"| {lengths.size / seconds / 1e6:,.0f} | {LARGE / large_seconds / 1e6:,.0f} "
            f"| {once:.2f} s |"
        )
        if name == "packed":
            shuffled = lengths[plan_order(lengths)]
            num_rows = first_fit(shuffled, max_seq_length)
            share = 1 - plan.num_tokens / (num_rows * max_seq_length)
            batches = -(-num_rows // BATCH_SIZE)
            lines.append(
                f"| {max_seq_length} | first-fit | {share:.2%} | {batches:,} | {max_seq_length} "
                "| | | |"
            )
    return lines


def plan_order(lengths: NDArray[np.uint32]) -> NDArray[np.int32]:
    config = PlanConfig(batch_size=BATCH_SIZE, shuffle=True)
    return make_plan(lengths, config).epoch(0).records


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("padding.py: error: needs ../shared/data beside the checkout")
    lengths_of = {longest: make_lengths(longest) for longest in PREDICTIONS}
    lines = ["# Padding", "", describe_machine(), ""]
    for longest, lengths in lengths_of.items():
        mean = f"{lengths.mean():.1f} on average"
        lines.append(f"{lengths.size:,} records of at most {longest} tokens, {mean}.\n")
    lines += [
        f"Batches of {BATCH_SIZE} rows, {NUM_EPOCHS} epochs; planning in million records per CPU "
        f"second of an epoch, the median of {arguments.rounds}.",
        "",
        "| at most | way | padding | batches | widths | planning, M/s | of 10M records "
        "| plan, once |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for longest, lengths in lengths_of.items():
        lines += table_of(lengths, longest, arguments.rounds)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
