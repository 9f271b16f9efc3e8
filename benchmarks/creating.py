"""Time and memory of create_pretraining_data.py, compared with Google's program.

    python benchmarks/creating.py --text=movie_reviews.txt --vocab=vocab.txt --reference=bert/

Whole processes are timed from outside, ours and the reference in turn, and medians are printed:
CPU seconds (user and system), wall seconds, peak memory. `--reference` is a checkout of
google-research/bert, whose program runs under TensorFlow's compat.v1 names. `--large_mb` adds a
text of that size (with dupe_factor 10, each of its bytes becomes some 25 bytes of records).
"""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import describe_machine

_HERE = Path(__file__).resolve().parent.parent
_SHARED = _HERE.parent / "shared" / "data"
_CREATE = str(_HERE / "create_pretraining_data.py")
_RUN_REFERENCE = (
    "import runpy, sys, tensorflow.compat.v1 as v1; sys.modules['tensorflow'] = v1; "
    "sys.path.insert(0, sys.argv[1]); path = sys.argv[1] + '/create_pretraining_data.py'; "
    "sys.argv = [path, *sys.argv[2:]]; runpy.run_path(path, run_name='__main__')"
)


@dataclasses.dataclass(frozen=True)
class Run:
    """One process: seconds of processor and of the wall clock, and memory."""

    cpu: float
    wall: float
    peak_mb: float


def run(command: list[str]) -> Run:
    """Runs a process and returns what the system counted.

    Its modules are compiled once and kept, as an interpreter does that nobody told otherwise.
    """
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as log:
        before = time.monotonic()
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            env={**inherited, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - before
        if status:
            log.seek(0)
            sys.exit(log.read().decode(errors="replace"))
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024 / 1e6)


def median(runs: list[Run]) -> Run:
    """The median of each figure."""
    return Run(
        *(statistics.median(column) for column in zip(*map(dataclasses.astuple, runs), strict=True))
    )


def ours(text: str, vocab: str, folder: str, *flags: str) -> list[str]:
    """The command of our program."""
    return [
        sys.executable, _CREATE, f"--input_file={text}", f"--vocab_file={vocab}",
        f"--output_file={folder}/ours", "--overwrite", *flags,
    ]  # fmt: skip


def reference(checkout: str, text: str, vocab: str, folder: str) -> list[str]:
    """The command of Google's program."""
    return [
        sys.executable, "-c", _RUN_REFERENCE, checkout, f"--input_file={text}",
        f"--vocab_file={vocab}", f"--output_file={folder}/reference",
    ]  # fmt: skip


def table(title: str, rows: dict[str, list[Run]], against: str | None) -> None:
    """Prints medians, and how often each row's CPU seconds go into those of the row `against`."""
    print(f"\n{title}\n")
    print("| program | CPU s | wall s | peak MB | times less CPU |\n|---|---|---|---|---|")
    base = median(rows[against]).cpu if against in rows else None
    for name, runs in rows.items():
        m = median(runs)
        ratio = f"{base / m.cpu:.1f}" if base else ""
        print(f"| {name} | {m.cpu:.2f} | {m.wall:.2f} | {m.peak_mb:.0f} | {ratio} |")


def compare(arguments: argparse.Namespace, folder: str) -> None:
    """The text as it is, ours and the reference in turn."""
    commands = {
        "ours, ragged, 1 worker": ours(arguments.text, arguments.vocab, folder, "--num_workers=1"),
        "ours, reference layout, 1 worker": ours(
            arguments.text, arguments.vocab, folder, "--num_workers=1", "--record_layout=reference"
        ),
    }
    if arguments.reference:
        commands["google-research/bert"] = reference(
            arguments.reference, arguments.text, arguments.vocab, folder
        )
    run(commands["ours, ragged, 1 worker"])  # compiles, if nothing else has
    rows: dict[str, list[Run]] = {name: [] for name in commands}
    size, sizes = os.path.getsize(arguments.text), {}
    for _ in range(arguments.runs):
        for name, command in commands.items():
            remove_records(folder)
            rows[name].append(run(command))
            made = Path(folder, "reference" if name.startswith("google") else "ours")
            sizes[name] = made.stat().st_size
    table(
        f"{Path(arguments.text).name} ({size:,} bytes), default flags", rows, "google-research/bert"
    )
    of_text = [f"{name} {bytes_made / size:.1f}" for name, bytes_made in sizes.items()]
    print(f"\nrecords take times the bytes of the text: {'; '.join(of_text)}")


def large(arguments: argparse.Namespace, folder: str) -> None:
    """A text of `large_mb`, once, beside the memory that it may take."""
    text = enlarge(arguments.text, folder, arguments.large_mb * 1_000_000)
    result = run(ours(text, arguments.vocab, folder))
    title = f"the text repeated to {os.path.getsize(text):,} bytes"
    table(title, {"ours, all cores": [result]}, None)
    manifest = json.loads(Path(folder, "manifest.ours.json").read_text())
    num_instances = manifest["counts"]["instances"]["num_instances"]
    allowed_mb = 1000 + 16 * num_instances / 1e6
    print(
        f"\n{num_instances:,} instances; the default --max_memory_mb and 16 bytes an instance are"
        f" {allowed_mb:,.0f} MB"
    )


def remove_records(folder: str) -> None:
    """Removes what a run has written, so that no run is charged with freeing it."""
    for pattern in ("*ours*", "reference"):
        for path in Path(folder).glob(pattern):
            path.unlink()


def enlarge(text: str, folder: str, num_bytes: int) -> str:
    """Writes the text as often as makes at least `num_bytes`."""
    content = Path(text).read_bytes() + b"\n\n"
    path = os.path.join(folder, f"text-{num_bytes}.txt")
    with open(path, "wb") as file:
        while file.tell() < num_bytes:
            file.write(content)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", default=str(_SHARED / "corpora" / "movie_reviews.txt"))
    parser.add_argument("--vocab", default=str(_SHARED / "vocab" / "bert-base-uncased.txt"))
    parser.add_argument("--reference", help="a checkout of google-research/bert")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large_mb", type=int, default=0)
    arguments = parser.parse_args()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        compare(arguments, folder)
        if arguments.large_mb:
            large(arguments, folder)


if __name__ == "__main__":
    main()
