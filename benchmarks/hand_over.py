"""CPU time to hand a batch over to a training loop, as Markdown on standard output.

    python benchmarks/hand_over.py > benchmarks/results/hand_over.md

The records are those of ../shared/data/corpora/movie_reviews.txt, ragged, in the page cache, in
batches of 32 of up to 128 tokens, of any width. A figure is CPU microseconds of the process (all
threads) per batch, the minimum and the median of the rounds; all ways take turns in one process,
with TensorFlow's own settings. The first round, the first epoch, is not counted. "eager" is `for
batch in dataset`, "graph" is `dataset.reduce` in a tf.function. Ways:

* plain, pools, stream: `read_batches` with this `batching`, shuffled, reading included. Planned
  records of a set of this size stay in memory from the second epoch on.
* plain, pools from files: the same if they do not, as in larger sets and in first epochs.
* iterate_arrays, iterate_batches: the same as NumPy arrays, and as eager tensors on their memory.
* raw records: `TFRecordDataset` and `batch`; nothing is parsed.
* ready tensors: eight tensors of stacked batches, by `from_tensor_slices`; nothing is read.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from machine import describe_machine
from reading import DATA, make_records

BATCH_SIZE = 32
PLANNED = ("plain", "pools")
Way = Callable[[], int]


def eager(dataset: Any) -> int:
    return sum(1 for _ in dataset)


def in_graph(dataset: Any) -> Way:
    import tensorflow as tf

    count = tf.function(lambda: dataset.reduce(0, lambda number, _: number + 1))
    return lambda: int(count())


def ready_tensors(num_batches: int) -> Any:
    import numpy as np
    import tensorflow as tf

    columns = {"tokens": (3, 128), "predictions": (3, 20), "instances": (2, 1)}
    return tf.data.Dataset.from_tensor_slices(
        {
            f"{name} {number}": np.zeros((num_batches, BATCH_SIZE, width), np.int32)
            for name, (count, width) in columns.items()
            for number in range(count)
        }
    )


def make_ways(folder: str, num_records: int) -> dict[tuple[str, str], Way]:
    import tensorflow as tf

    from bert_data.reader import ReaderConfig, iterate_arrays, iterate_batches, read_batches
    from bert_data.reader.files import local_records

    ways: dict[tuple[str, str], Way] = {}

    def add(name: str, dataset: Any) -> None:
        ways[name, "eager"] = lambda: eager(dataset)
        ways[name, "graph"] = in_graph(dataset)

    def add_reader(batching: str, *, from_files: bool = False) -> None:
        config = ReaderConfig(
            input_patterns=f"{folder}/ragged-*",
            batch_size=BATCH_SIZE,
            batching=batching,
            shuffle=True,
        )
        most = 0 if from_files else local_records.MAX_BYTES_IN_MEMORY
        with unittest.mock.patch.object(local_records, "MAX_BYTES_IN_MEMORY", most):
            add(f"{batching} from files" if from_files else batching, read_batches(config))
        if not from_files:
            ways[f"{batching}, iterate_arrays", "NumPy"] = lambda: eager(iterate_arrays(config))
            ways[f"{batching}, iterate_batches", "eager"] = lambda: eager(iterate_batches(config))

    for batching in (*PLANNED, "stream"):
        add_reader(batching)
    for batching in PLANNED:
        add_reader(batching, from_files=True)
    paths = [f"{folder}/ragged-{shard:05d}-of-00004" for shard in range(4)]
    add("raw records", tf.data.TFRecordDataset(paths).batch(BATCH_SIZE))
    add("ready tensors", ready_tensors(num_records // BATCH_SIZE))
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dupe_factor", type=int, default=5)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("hand_over.py: error: needs ../shared/data beside the checkout")
    with tempfile.TemporaryDirectory() as folder:
        ways = make_ways(folder, make_records(folder, arguments.dupe_factor))
        times: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
        for round_number in range(arguments.rounds + 1):
            for way, consume in ways.items():
                start = time.process_time()
                num_batches = consume()
                if round_number:  # the first one warms up
                    times[way].append((time.process_time() - start) / num_batches * 1e6)
    print(f"# Hand-over\n\n{describe_machine()}\n")
    print("| way | taken | least µs a batch | median |\n|---|---|--:|--:|")
    for (name, taken), values in times.items():
        print(f"| {name} | {taken} | {min(values):.0f} | {statistics.median(values):.0f} |")
    print(f"\nLoad average at the end: {os.getloadavg()[0]:.0f}.")


if __name__ == "__main__":
    main()
