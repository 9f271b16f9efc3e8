"""A tutorial's whole job, by one command each for vocabulary and data set, and by its plain script.

    python benchmarks/article.py --text=wikitext103.tokens --plain_python=env/bin/python

The job is that of "Preparing Data for BERT Training" (MachineLearningMastery.com): train a
WordPiece vocabulary, then turn wikitext, ten times over, into examples of 512 tokens with at most
20 predictions, as Parquet. Ours are train_vocab and create_pretraining_data.py; article_plain.py
has the article's method. Whole processes are timed from outside, in turn; medians are printed.

`--plain_python` (repeatable; this interpreter by default) names interpreters for the plain script,
because the versions of its libraries matter: it asks the tokenizer for the size of its vocabulary
for each random word, which takes milliseconds in tokenizers 0.22.1. If the `datasets` library is
installed, it writes as the article does. A plain run that would take too long makes only
`--plain_examples`, and its time is projected: the first example's time (start-up, reading and
tokenizing included) plus the others' average, for as many examples as the script makes otherwise.
"""

import argparse
import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet
from creating import Run, enlarge, median, run
from machine import describe_machine

_HERE = Path(__file__).resolve().parent.parent
_SHARED = _HERE.parent / "shared" / "data"
_PLAIN = str(_HERE / "benchmarks" / "article_plain.py")
_VOCAB_SIZE = 30_522
_LONGEST_SECONDS = 60
_READ = """
import sys, time
from bert_data.reader import ReaderConfig
from bert_data.reader.streamed import BatchSource
config = ReaderConfig(input_patterns=sys.argv[1], batch_size=32, shuffle=sys.argv[2] == "True")
source = BatchSource(config)
for group in source.groups():  # compiles, if nothing else has
    pass
start = time.process_time()
num_batches = sum(len(group.table) for group in source.groups())
print(32 * num_batches / (time.process_time() - start))
"""
_VERSIONS = (
    "import importlib.metadata as m\n"
    "def v(n):\n"
    "    try: return n + ' ' + m.version(n)\n"
    "    except m.PackageNotFoundError: return ''\n"
    "print(', '.join(filter(None, map(v, ('tokenizers', 'datasets')))))"
)


@dataclasses.dataclass(frozen=True)
class Made:
    """A data set that was made: its examples, and what it took."""

    num_examples: int
    took: Run

    @property
    def rate(self) -> float:
        """Examples a second, from the start of the process to its end."""
        return self.num_examples / self.took.wall

    @property
    def cpu_rate(self) -> float:
        """Examples a CPU second."""
        return self.num_examples / self.took.cpu


@dataclasses.dataclass(frozen=True)
class Plain:
    """The plain script under one interpreter."""

    python: str
    versions: str

    def make(self, text: str, folder: str, *flags: str) -> Made:
        """Makes the data set, or as the flags say."""
        path = f"{tempfile.mkdtemp(dir=folder)}/plain.parquet"
        writer = "datasets" if "datasets" in self.versions else "pyarrow"
        took = run(
            [
                self.python, _PLAIN, "data", f"--text={text}", f"--tokenizer={folder}/plain.json",
                f"--output={path}", f"--writer={writer}", *flags,
            ]
        )  # fmt: skip
        return Made(count_rows(path), took)

    def time(self, text: str, folder: str, most: int) -> tuple[Made, Made, bool]:
        """(as the article has it, with the vocabulary's size asked once, whether projected)."""
        quick = self.make(text, folder, "--size_once")
        one = self.make(text, folder, "--most=1")
        whole = project(one, self.make(text, folder, f"--most={most}"), quick.num_examples)
        if whole.took.wall < _LONGEST_SECONDS:
            return self.make(text, folder), quick, False
        return whole, quick, True


def project(one: Made, part: Made, num_whole: int) -> Made:
    """The cost of a whole run, from one of a single example and one of some."""
    share = (num_whole - 1) / (part.num_examples - 1)
    cpu, wall = (
        first + share * (some - first)
        for first, some in ((one.took.cpu, part.took.cpu), (one.took.wall, part.took.wall))
    )
    return Made(num_whole, Run(cpu, wall, part.took.peak_mb))


def count_rows(path: str) -> int:
    """The rows of a Parquet file."""
    return pyarrow.parquet.ParquetFile(path).metadata.num_rows


def ours(text: str, folder: str, *flags: str) -> list[str]:
    """The command that makes the data set."""
    return [
        sys.executable, str(_HERE / "create_pretraining_data.py"), f"--input_file={text}",
        "--input_format=wikitext", f"--vocab_file={folder}/vocab.txt", "--output_format=parquet",
        f"--output_file={folder}/ours.parquet", "--max_seq_length=512", "--dupe_factor=10",
        "--max_predictions_per_seq=20", "--overwrite", *flags,
    ]  # fmt: skip


def vocabularies(text: str, folder: str, python: str, num_runs: int) -> None:
    """Makes both vocabularies and prints what it took."""
    commands = {
        "train_vocab": [
            sys.executable, "-m", "bert_data.cli.train_vocab", f"--input_file={text}",
            "--input_format=wikitext", f"--vocab_size={_VOCAB_SIZE}",
            f"--output_file={folder}/vocab.txt", "--overwrite",
        ],
        "plain script": [
            python, _PLAIN, "vocab", f"--text={text}", f"--output={folder}/plain.json",
            f"--vocab_size={_VOCAB_SIZE}",
        ],
    }  # fmt: skip
    runs = {name: median([run(command) for _ in range(num_runs)])
            for name, command in commands.items()}  # fmt: skip
    print("\nA vocabulary\n\n| program | CPU s | wall s |\n|---|---|---|")
    for name, took in runs.items():
        print(f"| {name} | {took.cpu:.2f} | {took.wall:.2f} |")


def data_sets(arguments: argparse.Namespace, folder: str, plains: list[Plain]) -> None:
    """Ours and the plain ways in turn; examples a second of whole processes."""
    text, command = arguments.text, ours(arguments.text, folder)
    run(command)  # compiles, if nothing else has
    sets_by_name: dict[str, list[Made]] = {}
    for _ in range(arguments.runs):
        took = run(command)
        sets_by_name.setdefault("ours", []).append(Made(count_rows(f"{folder}/ours.parquet"), took))
        for plain in plains:
            whole, quick, is_projected = plain.time(text, folder, arguments.plain_examples)
            name = f"plain script, {plain.versions}"
            sets_by_name.setdefault(name + " \\*" * is_projected, []).append(whole)
            sets_by_name.setdefault(f"{name}, size asked once", []).append(quick)
    print(f"\nThe data set, of {os.path.getsize(text):,} bytes of text\n")
    print("| program | examples | CPU s | wall s | peak MB | examples/s | ours: times | by CPU |")
    print("|---|---|---|---|---|---|---|---|")
    for name, sets in sets_by_name.items():
        took = median([each.took for each in sets])
        pairs = list(zip(sets_by_name["ours"], sets, strict=True))
        print(
            f"| {name} | {sets[0].num_examples:,} | {took.cpu:.2f} | {took.wall:.2f} |"
            f" {took.peak_mb:.0f} | {statistics.median(each.rate for each in sets):,.0f} |"
            f" {statistics.median(a.rate / b.rate for a, b in pairs):.1f} |"
            f" {statistics.median(a.cpu_rate / b.cpu_rate for a, b in pairs):.1f} |"
        )
    print(f"\n\\* projected from {arguments.plain_examples:,} examples, where it says so")


def large(arguments: argparse.Namespace, folder: str) -> None:
    """Ours on a text of many times the size, where starting counts little."""
    text = enlarge(arguments.text, folder, arguments.large_mb * 1_000_000)
    took = run(ours(text, folder))
    num_rows = count_rows(f"{folder}/ours.parquet")
    print(
        f"\nours, of the text repeated to {os.path.getsize(text):,} bytes: {num_rows:,} examples in"
        f" {took.wall:.1f} s ({took.cpu:.1f} CPU s), {num_rows / took.wall:,.0f} a second,"
        f" {took.peak_mb:.0f} MB at the peak"
    )


def reading(arguments: argparse.Namespace, folder: str) -> None:
    """The same examples by this project's reader, in batches of 32, from either format."""
    run([*ours(arguments.text, folder), "--output_format=tfrecord", f"--output_file={folder}/t"])
    run(ours(arguments.text, folder))
    print(
        "\nReading it back\n\n| format | bytes | order | examples a CPU second |\n|---|---|---|---|"
    )
    for shuffle in (False, True):
        for name, path in (("TFRecord", f"{folder}/t"), ("Parquet", f"{folder}/ours.parquet")):
            figures = [
                subprocess.run(
                    [sys.executable, "-c", _READ, path, str(shuffle)],
                    check=True, capture_output=True, text=True, cwd=_HERE,
                ).stdout
                for _ in range(arguments.runs)
            ]  # fmt: skip
            rate = statistics.median(map(float, figures))
            order = "shuffled" if shuffle else "in order"
            print(f"| {name} | {os.path.getsize(path):,} | {order} | {rate:,.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", default=str(_SHARED / "corpora" / "wikitext103.tokens"))
    parser.add_argument("--plain_python", action="append")
    parser.add_argument("--plain_examples", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large_mb", type=int, default=50)
    arguments = parser.parse_args()
    plains = []
    for python in arguments.plain_python or [sys.executable]:
        versions = subprocess.run(
            [python, "-c", _VERSIONS], check=True, capture_output=True, text=True
        )
        plains.append(Plain(python, versions.stdout.strip()))
    print(describe_machine())
    os.environ["HF_HUB_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HF_HOME"] = f"{folder}/hub"
        vocabularies(arguments.text, folder, plains[0].python, arguments.runs)
        data_sets(arguments, folder, plains)
        reading(arguments, folder)
        large(arguments, folder)


if __name__ == "__main__":
    main()
