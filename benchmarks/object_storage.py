"""Cost of object storage: commands whose files are objects, beside the same with local files.

    python benchmarks/object_storage.py > benchmarks/results/object_storage.md

Text made by formula is turned into records, token stores, samples and curated documents, and the
records are read, once with local paths and once with s3:// ones; the server is moto's, on loopback,
in the process of this script. Whole processes are timed from outside, in turn, and medians are
printed: CPU seconds (user and system) of the command alone, and the requests that it sent. Seconds
by the clock are of no use, as the server shares the cores. The files of both are compared.
"""

import argparse
import collections
import dataclasses
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import describe_machine

_HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_HERE))

from tests.goldens.inputs import WORDS  # noqa: E402
from tests.object_store import ObjectStore, Server  # noqa: E402

_CREATE = [str(_HERE / "create_pretraining_data.py")]
_READ = """
import sys
from bert_data.reader import ReaderConfig, iterate_arrays
config = ReaderConfig(input_patterns=sys.argv[1], batch_size=32, batching=sys.argv[2])
print(sum(len(batch["input_mask"]) for batch in iterate_arrays(config)))
"""


@dataclasses.dataclass(frozen=True)
class Row:
    """A command: its name and arguments, in which "@" is where the files are."""

    name: str
    arguments: list[str]


def module(name: str, *flags: str) -> list[str]:
    """The arguments of a command of bert_data.cli."""
    return ["-m", f"bert_data.cli.{name}", *flags]


ROWS = [
    Row(
        "create, TFRecord",
        [*_CREATE, "--input_file=@in/*.txt", "--vocab_file=@in/vocab.txt", "--output_file=@c/t@8"],
    ),
    Row(
        "create, Parquet",
        [
            *_CREATE,
            "--input_file=@in/*.txt",
            "--vocab_file=@in/vocab.txt",
            "--output_file=@c/p@8",
            "--output_format=parquet",
        ],
    ),
    Row(
        "tokenize, 4 partitions",
        module(
            "tokenize",
            "--input_file=@in/*.txt",
            "--vocab_file=@in/vocab.txt",
            "--output_prefix=@s/t",
            "--num_partitions=4",
        ),
    ),
    Row("tokenize --merge", module("tokenize", "--merge=@s/t@4", "--output_prefix=@s/all")),
    Row(
        "build_samples",
        module("build_samples", "--input=@s/all", "--seq_length=512", "--output_file=@g/t@4"),
    ),
    Row(
        "curate",
        module(
            "curate",
            "--input_file=@in/*.txt",
            "--steps=length",
            "--steps=exact_duplicates",
            "--output_file=@o/t.jsonl.gz@4",
        ),
    ),
    Row("read, streamed", ["-c", _READ, "@c/t-*", "stream"]),
    Row("read, planned", ["-c", _READ, "@c/t-*", "pools"]),
]


def write_texts(folder: Path, num_bytes: int) -> None:
    """Writes 8 files of text, and a vocabulary that fits it."""
    folder.mkdir()
    rng = random.Random(1)
    for number in range(8):
        with open(folder / f"{number}.txt", "w", encoding="utf-8") as file:
            while file.tell() < num_bytes // 8:
                for _ in range(rng.randint(2, 20)):
                    file.write(" ".join(rng.choices(WORDS, k=rng.randint(5, 30))) + " .\n")
                file.write("\n")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS]
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in dict.fromkeys(tokens)))


def run(row: Row, place: str, folder: Path) -> tuple[float, float]:
    """Runs a command; returns CPU seconds, and seconds by the clock."""
    arguments = [each.replace("=@", f"={place}") for each in row.arguments]
    arguments = [f"{place}{each[1:]}" if each.startswith("@") else each for each in arguments]
    if not row.name.startswith("read"):
        arguments.append("--overwrite")
    environment = {**os.environ, "PYTHONPATH": str(_HERE), "TMPDIR": str(folder)}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, cwd=folder
    )
    after, end = os.times(), time.perf_counter()
    if done.returncode:
        raise SystemExit(f"{row.name}: {done.stderr[-2000:]}")
    cpu = after.children_user + after.children_system
    return cpu - before.children_user - before.children_system, end - start


def compare(folder: Path, store: ObjectStore) -> int:
    """Compares all shards and stores; returns their number."""
    count = 0
    for path in sorted(folder.glob("[csgo]/*")):
        name = path.relative_to(folder).as_posix()
        if not name.endswith((".json", ".html")):  # which name the inputs
            assert store.get(name) == path.read_bytes(), name
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=16.0)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    server = Server()
    os.environ.update(server.environment())
    store = ObjectStore(server)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_texts(folder / "in", int(args.mb * 1e6))
        for path in (folder / "in").iterdir():
            store.put(f"in/{path.name}", path.read_bytes())
        print(f"# Object storage\n\n{describe_machine()}. {args.mb:g} MB of text in 8 files,")
        print(f"medians of {args.runs} runs in turn; the server is moto's, on loopback.\n")
        print("| command | local, CPU s | s3://, CPU s | ratio | requests, of which PUT and POST |")
        print("|---|---|---|---|---|")
        for row in ROWS:
            run(row, f"{folder}/", folder)  # kernels are compiled and files cached
            seconds: dict[str, list[float]] = {"local": [], "remote": []}
            for _ in range(args.runs):
                seconds["local"].append(run(row, f"{folder}/", folder)[0])
                store.clear()
                seconds["remote"].append(run(row, store.uri(), folder)[0])
            methods = collections.Counter(request.method for request in store.requests)
            local, remote = map(statistics.median, seconds.values())
            writes = methods["PUT"] + methods["POST"]
            print(
                f"| {row.name} | {local:.2f} | {remote:.2f} | {remote / local:.2f}"
                f" | {methods.total()}, {writes} |",
                flush=True,
            )
        print(f"\n{compare(folder, store)} shards, indexes and stores are equal byte by byte.")
    server.close()


if __name__ == "__main__":
    main()
