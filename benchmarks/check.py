"""CPU time to check a set against just reading it, as Markdown on standard output.

    python benchmarks/check.py > benchmarks/results/check.md

The records are those of ../shared/data/corpora/movie_reviews.txt, in the page cache, in four shards
of each layout and in Parquet. A figure is CPU seconds of the process (all threads) for a gigabyte
of files, the median of the rounds; the ways take turns in one process, and a ratio is the median of
the rounds' ratios. Ways:

* check: `check_set` with the vocabulary, checksums of the files and copies included.
* raw records: `TFRecordDataset` and `batch` of 32, in a tf.function; nothing is parsed.
* iterate_arrays: a stream of batches of 32, decoded as NumPy arrays.

With --command, it measures the command instead, in a process of its own, on a gigabyte of ragged
records (--dupe_factor=60).
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
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


def make_sets(folder: str, dupe_factor: int, names: Sequence[str] = tuple(LAYOUTS)) -> None:
    from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
    from bert_data.objectives.making import InstanceConfig

    for name in names:
        create_dataset(
            DatasetConfig(
                input_file=str(DATA / "corpora" / "movie_reviews.txt"),
                vocab_file=str(VOCABULARY),
                output_file=f"{folder}/{name}@4",
                instances=InstanceConfig(dupe_factor=dupe_factor),
                **LAYOUTS[name],  # type: ignore[arg-type]
            )
        )


def make_ways(folder: str, name: str) -> dict[str, Callable[[], object]]:
    import tensorflow as tf

    from bert_data.inspection.configs import CheckConfig
    from bert_data.inspection.set_check import check_set
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


def measure_command(folder: str, dupe_factor: int) -> None:
    make_sets(folder, dupe_factor, ["ragged"])
    paths = [f"{folder}/ragged-{shard:05d}-of-00004" for shard in range(4)]
    size = sum(map(os.path.getsize, paths)) / 1e9
    flags = [f"--input_file={folder}/ragged@4", f"--vocab_file={VOCABULARY}"]
    command = [sys.executable, "-m", "bert_data.cli.check", *flags]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"check.py: error: the command ended with status {process.returncode}")
    seconds = usage.ru_utime + usage.ru_stime
    print("| GB | CPU s | peak MB |\n|--:|--:|--:|")
    print(f"| {size:.2f} | {seconds:.1f} | {usage.ru_maxrss / 1024:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dupe_factor", type=int, default=5)
    parser.add_argument("--command", action="store_true")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("check.py: error: needs ../shared/data beside the checkout")
    print(f"# Check\n\n{describe_machine()}\n")
    if arguments.command:
        with tempfile.TemporaryDirectory() as folder:
            measure_command(folder, arguments.dupe_factor)
        return
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
