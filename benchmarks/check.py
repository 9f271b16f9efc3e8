"""CPU time to check a set against just reading it, as Markdown on standard output.

    python benchmarks/check.py > benchmarks/results/check.md

The records are those of ../shared/data/corpora/movie_reviews.txt, in the page cache, in four shards
of each layout and in Parquet. A figure is CPU seconds of the process (all threads) for a gigabyte
of files, the median of the rounds; the ways take turns in one process, and a ratio is the median of
the rounds' ratios. Ways:

* check: `check_set` with the vocabulary, checksums of the files and copies included.
* raw records: `TFRecordDataset` and `batch` of 32, in a tf.function; nothing is parsed.
* iterate_arrays: a stream of batches of 32, decoded as NumPy arrays.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from hand_over import in_graph
from machine import describe_machine
from reading import DATA

BATCH_SIZE = 32
LAYOUTS = {
    "ragged": {"record_layout": "ragged"},
    "reference": {"record_layout": "reference"},
    "parquet": {"output_format": "parquet"},
}
VOCABULARY = DATA / "vocab" / "bert-base-uncased.txt"


def make_sets(folder: str, dupe_factor: int) -> None:
    from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
    from bert_data.objectives.making import InstanceConfig

    for name, options in LAYOUTS.items():
        create_dataset(
            DatasetConfig(
                input_file=str(DATA / "corpora" / "movie_reviews.txt"),
                vocab_file=str(VOCABULARY),
                output_file=f"{folder}/{name}@4",
                instances=InstanceConfig(dupe_factor=dupe_factor),
                **options,  # type: ignore[arg-type]
            )
        )


def make_ways(folder: str, name: str) -> dict[str, Callable[[], object]]:
    import tensorflow as tf

    from bert_data.inspection.check import CheckConfig, check_set
    from bert_data.reader import ReaderConfig, iterate_arrays

    pattern = f"{folder}/{name}-*"
    config = ReaderConfig(input_patterns=pattern, batch_size=BATCH_SIZE)
    check = CheckConfig(input_patterns=pattern, vocab_file=str(VOCABULARY))
    ways: dict[str, Callable[[], object]] = {
        "check": lambda: check_set(check),
        "iterate_arrays": lambda: sum(1 for _ in iterate_arrays(config)),
    }
    if name != "parquet":
        paths = [f"{folder}/{name}-{shard:05d}-of-00004" for shard in range(4)]
        ways["raw records"] = in_graph(tf.data.TFRecordDataset(paths).batch(BATCH_SIZE))
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dupe_factor", type=int, default=5)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("check.py: error: needs ../shared/data beside the checkout")
    print(f"# Check\n\n{describe_machine()}\n")
    print("| set | way | CPU s a GB | check takes, of it |\n|---|---|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        make_sets(folder, arguments.dupe_factor)
        for name in LAYOUTS:
            ways = make_ways(folder, name)
            times: dict[str, list[float]] = {way: [] for way in ways}
            for round_number in range(arguments.rounds + 1):
                for way, run in ways.items():
                    start = time.process_time()
                    run()
                    if round_number:  # the first one warms up
                        times[way].append(time.process_time() - start)
            gigabytes = sum(path.stat().st_size for path in Path(folder).glob(f"{name}-*")) / 1e9
            for way, seconds in times.items():
                pairs = zip(times["check"], seconds, strict=True)
                ratio = statistics.median(check / other for check, other in pairs)
                median = statistics.median(seconds) / gigabytes
                print(f"| {name} | {way} | {median:.2f} | {100 * ratio:.0f}% |")
    print(f"\nLoad average at the end: {os.getloadavg()[0]:.0f}.")


if __name__ == "__main__":
    main()
