"""Growth of deciding over all documents, under a cap of memory: CPU, disk, bytes shuffled, memory.

    python benchmarks/deciding_growth.py > benchmarks/results/deciding_growth.md
    python benchmarks/deciding_growth.py --documents=200000,2000000,20000000 --folder=/large/disk
    python benchmarks/deciding_growth.py --steps=substring_duplicates

The documents are made by formula, as what the steps observe of them: 24 shingles, 8 lines and 80
words each, of which one of ten documents has 60 from an earlier one.
Three of ten are copies of an earlier document with up to three other shingles (none: equal to it),
one of a thousand is a copy of the same page, so that a bucket and a line are hot, and one line of
eight is shared by a hundred documents. They are mixed in buckets by percentiles of a score, which
ten thousand documents share each. Each step decides in one process with --max_memory_mb=256:
its peak memory, the interpreter and its packages included, is that of its largest task. The time
of making and observing the documents is not counted.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import numpy as np  # noqa: E402
from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.duplicates.minhash import make_band_keys, permutations  # noqa: E402
from bert_data.curation.duplicates.ranks import RankWriter  # noqa: E402
from bert_data.curation.quality.percentiles import save_values  # noqa: E402
from bert_data.curation.step import make_step  # noqa: E402
from bert_data.storage import folder_size  # noqa: E402
from bert_data.work import open_executor  # noqa: E402
from bert_data.work.array_files import ArrayWriter  # noqa: E402
from bert_data.work.rounds import Part, Rounds  # noqa: E402

STEPS = ("exact_duplicates", "line_duplicates", "mix", "near_duplicates", "perplexity")
SUBSTRINGS = "substring_duplicates"
PARAMETERS = {
    "perplexity": {"reference": "none"},
    "mix": {
        "exponent": 0.5,
        "bucket_field": "score",
        "bucket_percentiles": (1, 25, 50, 75, 99),
        "budget": 1e6,
    },
}
MAX_MEMORY_MB = 256
SHARD_DOCUMENTS = 50_000
NUM_SHINGLES, NUM_LINES, NUM_BANDS, NUM_ROWS = 24, 8, 14, 8
NUM_WORDS, NUM_COPIED = 80, 60
TEXT = "x" * 400


def mixed(*numbers):
    """A hash of arrays of numbers, uint64."""
    value = np.zeros(1, np.uint64)
    for each in numbers:
        value = (value ^ np.asarray(each, np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
        value *= np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(32)
    return value


def make_shingles(numbers):
    """The sorted shingles, uint64 [documents, NUM_SHINGLES], of documents by their numbers."""
    kind = numbers % np.uint64(10)
    origin = numbers.copy()
    earlier = mixed(numbers, 1) % np.maximum(numbers // np.uint64(10), np.uint64(1))
    origin[kind >= 7] = (earlier * np.uint64(10))[kind >= 7]  # never a copy itself
    is_hot = numbers % np.uint64(1000) == 5
    origin[is_hot] = 5
    places = np.arange(NUM_SHINGLES, dtype=np.uint64)
    shingles = mixed(origin[:, None], places[None, :], 2)
    num_other = np.where(is_hot, 1, np.where(kind >= 7, mixed(numbers, 3) % np.uint64(4), 0))
    other = mixed(numbers[:, None], places[None, :], 4)
    shingles = np.where(places[None, :] < num_other[:, None], other, shingles)
    return np.sort(shingles, axis=1)


def make_lines(numbers):
    """The hashes of the lines, uint64 [documents, NUM_LINES]."""
    lines = mixed(numbers[:, None], np.arange(NUM_LINES, dtype=np.uint64)[None, :], 5)
    lines[:, 0] = mixed(numbers // np.uint64(100), 6)
    lines[numbers % np.uint64(1000) == 5, 1] = 7
    return lines


def make_shard(path, first, end):
    numbers = np.arange(first, end, dtype=np.uint64)
    shingles = make_shingles(numbers)
    factors = permutations(NUM_BANDS * NUM_ROWS)
    minima = np.empty(NUM_BANDS * NUM_ROWS, np.uint32)
    keys = np.empty((len(numbers), NUM_BANDS), np.uint64)
    with RankWriter(path) as writer:
        for row, number in enumerate(numbers.tolist()):
            make_band_keys(shingles[row], *factors, minima, keys[row])
            add_document(writer, number, shingles[row])
        writer.arrays["keys"] = keys.T


def add_document(writer, number, row):
    text = TEXT[: 200 + number % 199]
    writer.add(Document(f"web/file-{number}", "web", text), row.data)
    writer.append(row)


def make_shard_of_lines(path, first, end):
    numbers = np.arange(first, end, dtype=np.uint64)
    with RankWriter(path) as writer:
        for number, lines in zip(numbers.tolist(), make_lines(numbers), strict=True):
            add_document(writer, number, lines)


def make_shard_of_values(path, first, end):
    numbers = np.arange(first, end, dtype=np.uint64)
    save_values(path, 1 + (mixed(numbers, 8) >> np.uint64(40)) / 1e4)


def make_words(numbers):
    """The hashes of the words, uint64 [documents, NUM_WORDS]."""
    origin = np.repeat(numbers[:, None], NUM_WORDS, axis=1)
    earlier = mixed(numbers, 9) % np.maximum(numbers, np.uint64(1))
    copies = numbers % np.uint64(10) == 9
    origin[copies, :NUM_COPIED] = earlier[copies, None]
    return mixed(origin, np.arange(NUM_WORDS, dtype=np.uint64)[None, :], 10)


def make_shard_of_words(path, first, end):
    with ArrayWriter(path) as rows:
        for row in make_words(np.arange(first, end, dtype=np.uint64)):
            rows.append(row)


def make_shard_of_scores(path, first, end):
    scores = mixed(np.arange(first, end, dtype=np.uint64), 11) % np.uint64(2000)
    documents = (
        Document(f"web/file-{number}", "web", TEXT[: 200 + number % 199], {"score": score})
        for number, score in enumerate(scores.tolist(), first)
    )
    make_step("mix", PARAMETERS["mix"]).observe("", documents, path)


KINDS = {
    SUBSTRINGS: ("words", make_shard_of_words),
    "mix": ("scores", make_shard_of_scores),
    "line_duplicates": ("lines", make_shard_of_lines),
    "perplexity": ("values", make_shard_of_values),
}


def kind_of(step):
    """The step's observation of a shard: the name of its file, and the function that makes it."""
    return KINDS.get(step, ("shard", make_shard))


def make_parts(folder, num_documents, step=""):
    firsts = range(0, num_documents, SHARD_DOCUMENTS)
    kind, _ = kind_of(step)
    return [
        Part(
            str(folder / f"{kind}-{first:010d}"),
            "web",
            first,
            min(first + SHARD_DOCUMENTS, num_documents),
            300 * SHARD_DOCUMENTS,
        )
        for first in firsts
    ]


class DiskWatch(threading.Thread):
    """Looks at the size of a folder, twice a second."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.done, self.peak = folder, threading.Event(), 0

    def run(self):
        while not self.done.wait(0.5):
            try:
                self.peak = max(self.peak, folder_size(self.folder))
            except OSError:
                continue

    def finish(self):
        """Stop, and return the greatest size."""
        self.done.set()
        self.join()
        return self.peak


def process_status(name):
    """Bytes of this process. "VmHWM": its peak; in `getrusage` that of its parent counts, too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return int(status[name].split()[0]) * 1024


def decide(name, folder, num_documents):
    """Run one step in this process, and print its figures as JSON."""
    parameters = PARAMETERS.get(name, {})
    work = folder / "work"
    work.mkdir()
    watch = DiskWatch(work)
    watch.start()
    before = resource.getrusage(resource.RUSAGE_SELF)
    with open_executor(1) as executor:
        parts = make_parts(folder, num_documents, name)
        rounds = Rounds(str(work / name), parts, MAX_MEMORY_MB * 1_000_000, executor)
        decisions = make_step(name, parameters).decide(rounds)
    peak_disk = watch.finish()
    after = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory": process_status("VmHWM"),
        "shuffled": rounds.num_bytes,
        "disk": peak_disk,
        "tasks": sum(1 for _ in work.glob("*/*/task")),
        "decided": sum(len(records) for records in decisions.tables.values()),
    }
    print(json.dumps(figures))


def measure(name, folder, num_documents):
    return run_alone(__file__, folder, f"--step={name}", f"--documents={num_documents}")


def run_alone(script, folder, *flags):
    """Run a script in a process of its own, remove its work, and return the figures it prints."""
    command = [sys.executable, script, f"--folder={folder}", *flags]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    shutil.rmtree(folder / "work")
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", default="200000,2000000")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--steps", default=",".join([*STEPS, SUBSTRINGS]))
    parser.add_argument("--step", help="run it in this process, on documents made before")
    flags = parser.parse_args()
    counts = [int(each) for each in flags.documents.split(",")]
    if flags.step:
        decide(flags.step, flags.folder, counts[0])
        return
    print("# Growth of deciding over all documents\n")
    print(f"{describe_machine()}; --max_memory_mb={MAX_MEMORY_MB}; a column is per document where")
    print("it says so. Disk is the peak of the work folder, besides what was observed.\n")
    print(
        "| step | documents | CPU s | µs each | shuffled, bytes each | disk, MB | tasks | peak MB |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for num_documents in counts:
        with tempfile.TemporaryDirectory(dir=flags.folder) as name:
            folder = Path(name)
            steps = flags.steps.split(",")
            for step in {kind_of(step): step for step in steps}.values():
                for part in make_parts(folder, num_documents, step):
                    kind_of(step)[1](Path(part.path), part.first, part.end)
            for step in steps:
                run = measure(step, folder, num_documents)
                print(
                    f"| {step} | {num_documents:,} | {run['cpu']:.1f} |"
                    f" {1e6 * run['cpu'] / num_documents:.1f} |"
                    f" {run['shuffled'] / num_documents:.0f} | {run['disk'] / 1e6:,.0f} |"
                    f" {run['tasks']} | {run['memory'] / 1e6:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
