"""Growth of semantic_duplicates under a cap of memory: CPU, disk, bytes shuffled, peak memory.

    python benchmarks/semantic_growth.py > benchmarks/results/semantic_growth.md
    python benchmarks/semantic_growth.py --documents=20000 --dimension=768

The embeddings are made by formula, as what the step observes of them: a thousand topics of very
different sizes, noise around each, three of ten documents close to one of the others, and one of a
thousand equal to the same embedding. The step decides with its defaults (clusters: the
square root of the documents, 20 iterations over 256 samples a cluster) in one process with
--max_memory_mb=256, and NumPy's matrix products on one thread. Its peak memory, the interpreter and
its packages included, is that of its largest task. The time of making and observing the documents
is not counted.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import numpy as np  # noqa: E402
from deciding_growth import DiskWatch, make_parts, process_status, run_alone  # noqa: E402
from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.duplicates.ranks import KEPT, RankWriter  # noqa: E402
from bert_data.curation.duplicates.unit_vectors import round_to_unit  # noqa: E402
from bert_data.curation.step import make_step  # noqa: E402
from bert_data.work import open_executor  # noqa: E402
from bert_data.work.rounds import Rounds  # noqa: E402

MAX_MEMORY_MB = 256
NUM_TOPICS = 1000
COPY_NOISE = 0.1  # beside 1.4 of the document: a cosine of about 0.9975


def make_embeddings(first, end, dimension):
    """Embeddings of documents by their numbers, float64 [documents, dimension]."""
    draw = np.random.default_rng([first, dimension])
    topics = np.random.default_rng(dimension).normal(size=(NUM_TOPICS, dimension))
    number = end - first
    topic = (NUM_TOPICS * draw.random(number) ** 3).astype(np.int64)
    rows = topics[topic] + draw.normal(size=(number, dimension))
    is_copy = draw.random(number) < 0.3
    copies, origins = np.flatnonzero(is_copy), np.flatnonzero(~is_copy)
    noise = COPY_NOISE * draw.normal(size=(len(copies), dimension))
    rows[copies] = rows[draw.choice(origins, len(copies))] + noise
    rows[np.arange(first, end) % 1000 == 5] = topics[0]
    return rows


def make_shard(part, dimension):
    path = Path(part.path)
    vectors = round_to_unit(make_embeddings(part.first, part.end, dimension))
    with RankWriter(path, np.int16) as writer:
        for number, vector in enumerate(vectors, part.first):
            text = "x" * (200 + number % 199)
            writer.add(Document(f"web/file-{number}", "web", text), vector.data)
            writer.append(vector)


def decide(folder, num_documents):
    """Run the step in this process, and print its figures as JSON."""
    work = folder / "work"
    work.mkdir()
    watch = DiskWatch(work)
    watch.start()
    before = resource.getrusage(resource.RUSAGE_SELF)
    with open_executor(1) as executor:
        parts = make_parts(folder, num_documents)
        rounds = Rounds(str(work / "round"), parts, MAX_MEMORY_MB * 1_000_000, executor)
        decisions = make_step("semantic_duplicates", {}).decide(rounds)
    peak_disk = watch.finish()
    after = resource.getrusage(resource.RUSAGE_SELF)
    ids = decisions.tables["ids"]
    assert ids.layout.fields[0] == KEPT.fields[1]
    figures = {
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory": process_status("VmHWM"),
        "shuffled": rounds.num_bytes,
        "disk": peak_disk,
        "tasks": sum(1 for _ in work.glob("*/*/task")),
        "clusters": rounds.counted["clusters"],
        "compared": rounds.counted["compared"],
        "rejected": len(ids),
    }
    print(json.dumps(figures))


def measure(folder, num_documents):
    return run_alone(__file__, folder, "--decide", f"--documents={num_documents}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", default="20000,200000,2000000")
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--decide", action="store_true")
    flags = parser.parse_args()
    counts = [int(each) for each in flags.documents.split(",")]
    if flags.decide:
        decide(flags.folder, counts[0])
        return
    print("# Growth of semantic duplicates\n")
    print(f"{describe_machine()}; --max_memory_mb={MAX_MEMORY_MB}.")
    print("Disk is the peak of the work folder, besides what was observed; shuffled is what all")
    print("rounds write, those of k-means included.\n")
    print(
        "| documents | numbers | clusters | CPU s | µs each | pairs compared | rejected |", end=""
    )
    print(" shuffled, bytes each | disk, MB | tasks | peak MB |")
    print("|--:" * 11 + "|")
    for num_documents in counts:
        with tempfile.TemporaryDirectory(dir=flags.folder) as name:
            folder = Path(name)
            for part in make_parts(folder, num_documents):
                make_shard(part, flags.dimension)
            run = measure(folder, num_documents)
        print(
            f"| {num_documents:,} | {flags.dimension} | {run['clusters']:,} | {run['cpu']:.1f} |"
            f" {1e6 * run['cpu'] / num_documents:.1f} | {run['compared']:,} |"
            f" {run['rejected']:,} | {run['shuffled'] / num_documents:.0f} |"
            f" {run['disk'] / 1e6:,.0f} | {run['tasks']} | {run['memory'] / 1e6:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
