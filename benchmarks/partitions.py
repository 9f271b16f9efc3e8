"""Sets of partitions beside sets of one stream: what they cost, and what a second worker gains.

    python benchmarks/partitions.py --text=movie_reviews.txt --vocab=vocab.txt

A text of --mb is made of the given one. Three commands run in turn: one stream with one worker;
--num_partitions with one worker, and with two. Medians of their CPU seconds (user, and in all) and
wall seconds are printed, with the ratios that the documentation gives: CPU of partitions to that of
one stream, both with one worker, and wall clock of one worker to that of two.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from creating import enlarge, ours, remove_records, run
from machine import describe_machine

_SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
_NUM_SHARDS = 8


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", default=str(_SHARED / "corpora" / "movie_reviews.txt"))
    parser.add_argument("--vocab", default=str(_SHARED / "vocab" / "bert-base-uncased.txt"))
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--record_layout", default="ragged", choices=("ragged", "reference"))
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        text = enlarge(arguments.text, folder, arguments.mb * 1_000_000)
        partitions = f"--num_partitions={arguments.partitions}"
        flags = {
            "one stream, 1 worker": ["--num_workers=1"],
            f"{arguments.partitions} partitions, 1 worker": ["--num_workers=1", partitions],
            f"{arguments.partitions} partitions, 2 workers": ["--num_workers=2", partitions],
        }
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in flags}
        for number in range(arguments.runs + 1):  # the first round compiles
            for name, more in flags.items():
                remove_records(folder)
                more = [
                    *more,
                    f"--output_file={folder}/ours@{_NUM_SHARDS}",
                    f"--record_layout={arguments.record_layout}",
                    "--num_examples=0",
                ]
                command = ours(text, arguments.vocab, folder, *more)
                result = run(command)
                if number:
                    rows[name].append((result.user, result.cpu, result.wall))
        print(f"\n{arguments.record_layout} records in {_NUM_SHARDS} shards", end="")
        show(rows, os.path.getsize(text))


def show(rows: dict[str, list[tuple[float, float, float]]], num_bytes: int) -> None:
    """Prints medians and their ratios."""
    print(f" of the text repeated to {num_bytes:,} bytes\n")
    print("| program | user s | CPU s | wall s |\n|---|---|---|---|")
    medians = []
    for name, figures in rows.items():
        medians.append([statistics.median(column) for column in zip(*figures, strict=True)])
        user, cpu, wall = medians[-1]
        print(f"| {name} | {user:.2f} | {cpu:.2f} | {wall:.2f} |")
    stream, one, two = medians
    print(
        f"\npartitions take {one[1] / stream[1]:.2f} times the CPU of one stream ("
        f"{one[0] / stream[0]:.2f} times without the system's share);"
        f" two workers are {one[2] / two[2]:.2f} times as fast as one (wall clock), and take"
        f" {two[1] / one[1]:.2f} times its CPU, {two[1] / stream[1]:.2f} times that of one stream"
    )


if __name__ == "__main__":
    main()
