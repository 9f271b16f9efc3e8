"""The gain of a second worker on partitions, beside two separate runs at once and one stream.

    python benchmarks/partitions.py --text=movie_reviews.txt --vocab=vocab.txt

A text of --mb is made of the given one. In turn run: one stream with one worker; --num_partitions
with one worker, and with two; and two runs at once with one worker each, of half the text and half
the partitions each, which is what the machine can do without anything that is shared. Medians of
CPU and wall seconds are printed, and medians of the ratios of each round.
"""

import argparse
import concurrent.futures
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from creating import Run, enlarge, ours, remove_records, run
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
        measure(arguments, folder)


def measure(arguments: argparse.Namespace, folder: str) -> None:
    """Runs all programs in turn, and shows their figures."""
    text = enlarge(arguments.text, folder, arguments.mb * 1_000_000)
    halves = split(text)
    num = arguments.partitions

    def create(text: str, name: str, num_shards: int, *flags: str) -> Run:
        command = ours(
            text, arguments.vocab, folder, *flags,
            f"--output_file={folder}/{name}@{num_shards}",
            f"--record_layout={arguments.record_layout}", "--num_examples=0",
        )  # fmt: skip
        return run(command)

    partitions = f"--num_partitions={num}"
    programs = {
        "one stream, 1 worker": lambda: create(text, "ours", _NUM_SHARDS, "--num_workers=1"),
        f"{num} partitions, 1 worker": lambda: create(
            text, "ours", _NUM_SHARDS, "--num_workers=1", partitions
        ),
        f"{num} partitions, 2 workers": lambda: create(
            text, "ours", _NUM_SHARDS, "--num_workers=2", partitions
        ),
        f"two runs at once, {num // 2} partitions each": lambda: two_runs(
            lambda number: create(
                halves[number],
                f"ours{number}",
                _NUM_SHARDS // 2,
                "--num_workers=1",
                f"--num_partitions={num // 2}",
            )
        ),
    }
    rows: dict[str, list[Run]] = {name: [] for name in programs}
    for number in range(arguments.runs + 1):  # the first round compiles
        for name, program in programs.items():
            remove_records(folder)
            result = program()
            if number:
                rows[name].append(result)
    print(f"\n{arguments.record_layout} records in {_NUM_SHARDS} shards", end="")
    show(rows, os.path.getsize(text))


def two_runs(start: Callable[[int], Run]) -> Run:
    """Runs 0 and 1 at once; returns their CPU seconds together, and the wall seconds of both."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        a, b = pool.map(start, range(2))
    return Run(a.cpu + b.cpu, max(a.wall, b.wall), a.peak_mb + b.peak_mb, a.user + b.user)


def split(text: str) -> list[str]:
    """Writes the halves of a text, which end with a document, beside it."""
    content = Path(text).read_bytes()
    middle = content.index(b"\n\n", len(content) // 2) + 2
    halves = [f"{text}.{number}" for number in range(2)]
    Path(halves[0]).write_bytes(content[:middle])
    Path(halves[1]).write_bytes(content[middle:])
    return halves


def show(rows: dict[str, list[Run]], num_bytes: int) -> None:
    """Prints medians, and medians of the ratios of each round."""
    print(f" of the text repeated to {num_bytes:,} bytes\n")
    print("| program | user s | CPU s | wall s |\n|---|---|---|---|")
    for name, runs in rows.items():
        user, cpu, wall = (
            statistics.median(getattr(each, figure) for each in runs)
            for figure in ("user", "cpu", "wall")
        )
        print(f"| {name} | {user:.2f} | {cpu:.2f} | {wall:.2f} |")
    stream, one, two, runs = rows.values()

    def ratio(a: list[Run], b: list[Run], figure: str) -> float:
        pairs = zip(a, b, strict=True)
        return statistics.median(getattr(x, figure) / getattr(y, figure) for x, y in pairs)

    print(
        f"\npartitions take {ratio(one, stream, 'cpu'):.2f} times the CPU of one stream;"
        f" two workers are {ratio(one, two, 'wall'):.2f} times as fast as one (wall clock), take"
        f" {ratio(two, one, 'cpu'):.2f} times its CPU, and reach"
        f" {ratio(runs, two, 'wall'):.2f} of what two runs at once do"
    )


if __name__ == "__main__":
    main()
