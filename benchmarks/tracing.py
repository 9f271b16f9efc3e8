"""Planted documents among many, traced to all steps of a run that read them, and back.

    python benchmarks/tracing.py --documents=20000000 --planted=10000
    python benchmarks/tracing.py --documents=20000000 --planted=10000 --stores=50

With several stores, they are links to one, each a source of its own in the run, and one more: it
reads a billion documents by the second command. An id of the links is that of a document of each;
the last store has ids of its own, so that one is found among a billion, by the command as well.

The store has holes in place of its tokens, but for the planted documents, whose tokens are written;
its index and the list of where its documents came from are whole. The run reads each token once, so
a trace is complete if its exposures have as many tokens as the documents. It is right if the
batches of some of the steps hold planted tokens where it says, and nowhere else.
"""

import argparse
import collections
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from machine import describe_machine

from bert_data.inspection.configs import TraceConfig
from bert_data.inspection.tracing.traced_documents import trace_documents
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.run_batches import iterate_placed
from bert_data.tokens.places import FIELDS, Places, ProvenanceRule
from bert_data.tokens.provenance import GROUP_ROWS, ProvenanceWriter
from bert_data.tokens.store import HEADER, MAGIC, MEGATRON, VERSION, StoreShape
from bert_data.tokens.store_writer import FileSummary

TOKENS = 600  # of a document, on average
CHECKED_STEPS = 20
MARK = 7  # the token of planted documents
RECIPE = """
vocab_file: {folder}/vocab.txt
stores:
{stores}
stages: [{{epochs: {{web0: 1}}, max_seq_length: 512, batch_size: 256, objective: tokens}}]
"""


def sizes_of(first, last):
    """The tokens of documents, by their numbers."""
    return 100 + (np.arange(first, last) * 2654435761 >> 7) % (2 * TOKENS - 199)


def id_of(number):
    return f"<urn:uuid:{number * 0x9E3779B97F4A7C15 % 2**64:016x}>"


def write_store(prefix, num_documents, planted, first_id=0):
    """Write a store, and where its documents came from; return the tokens of the planted ones."""
    parts = [(n, min(n + GROUP_ROWS, num_documents)) for n in range(0, num_documents, GROUP_ROWS)]
    with open(f"{prefix}.idx", "wb") as file:
        file.write(HEADER.pack(MAGIC, VERSION, 8, num_documents, num_documents + 1))
        for part in parts:
            file.write(sizes_of(*part).astype("<i4").tobytes())
        start, wanted, spans = 0, np.array(sorted(planted)), []
        for first, last in parts:
            ends = start + np.cumsum(sizes_of(first, last))
            begins = np.concatenate([[start], ends[:-1]])
            file.write((2 * begins).astype("<i8").tobytes())
            own = wanted[(wanted >= first) & (wanted < last)] - first
            spans += zip(begins[own].tolist(), ends[own].tolist(), strict=True)
            start = int(ends[-1])
        for first, last in parts:
            file.write(np.arange(first, last, dtype="<i8").tobytes())
        file.write(np.array([num_documents], "<i8").tobytes())
    with open(f"{prefix}.bin", "wb") as file:
        file.truncate(2 * start)
        for begin, end in spans:
            file.seek(2 * begin)
            file.write(np.full(end - begin, MARK, "<u2").tobytes())
    store = SimpleNamespace(
        prefix=str(prefix),
        shape=StoreShape(level="document", empty_documents=MEGATRON),
        num_documents=num_documents,
        files={"idx": FileSummary(num_bytes=0, crc32=0)},
    )
    rule = ProvenanceRule(fields={name: name for name in FIELDS})
    with ProvenanceWriter(store, rule) as writer:
        for first, last in parts:
            numbers = np.arange(first, last)
            columns = {
                "id": [id_of(n + first_id) for n in range(first, last)],
                "url": [f"https://www.site{n % 9973}.org/page/{n}" for n in range(first, last)],
                "license": ["CC-BY-4.0"] * (last - first),
            }
            ends = numbers - first + 1
            places = Places("web.jsonl", ends - 1, numbers + 1, columns)
            writer.add(places, np.ones(last - first, np.int64), ends)
    return start, sum(end - begin for begin, end in spans)


def link_store(folder, names):
    for name in names:
        for ending in ("bin", "idx", "provenance"):
            (folder / f"{name}.{ending}").hardlink_to(folder / f"web.{ending}")


def num_read(traced):
    """Return the tokens of all exposures."""
    exposures = (each for one in traced for found in one.exposures.values() for each in found)
    return sum(len(each.columns) for each in exposures)


def measured(action):
    before, begun = time.process_time(), time.perf_counter()
    result = action()
    return result, time.process_time() - before, time.perf_counter() - begun


def count_false(traced, recipe):
    """Compare some steps with their batches; return how many places are missing or false."""
    steps = collections.defaultdict(set)
    for document in traced:
        for found in document.exposures.values():
            for each in found:
                steps[each.step] |= {(each.row, column) for column in each.columns}
    run, num_false, num_places = Run(recipe), 0, 0
    for step in random.Random(1).sample(sorted(steps), min(CHECKED_STEPS, len(steps))):
        _, batch = next(iterate_placed(run, run.place(step)))
        ids, weights = batch["input_ids"], batch["masked_lm_weights"] > 0
        rows, slots = np.nonzero(weights)
        ids[rows, batch["masked_lm_positions"][rows, slots]] = batch["masked_lm_ids"][rows, slots]
        held = {tuple(place) for place in np.argwhere(ids == MARK).tolist()}
        num_false += len(held ^ steps[step])
        num_places += len(held)
    return num_false, num_places


def trace_all(folder, ids):
    """Trace several sets of ids, the first by the command, too; return what the last one has."""
    print("| documents traced | CPU seconds | of each | seconds |\n|--:|--:|--:|--:|")
    flags = [f"--document={ids[0][0]}", f"--recipe={folder}/r.yaml"]
    command = [sys.executable, "-m", "bert_data", "trace", *flags]
    for _ in range(2):  # kernels are compiled in the first
        _, _, seconds = measured(
            lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        )
    print(f"| 1, by the command | | | {seconds:.2f} |")
    for names in ids:
        (folder / "ids.txt").write_text("\n".join(names), "utf-8")
        config = TraceConfig(documents=f"{folder}/ids.txt", recipe=f"{folder}/r.yaml")
        traced, cpu, seconds = measured(lambda config=config: trace_documents(config))
        row = f"| {len(traced):,} | {cpu:.2f} | {cpu / len(traced):.3f} | {seconds:.2f} |"
        print(row, flush=True)
    return traced


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000_000)
    parser.add_argument("--planted", type=int, default=10_000)
    parser.add_argument("--stores", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        words = [*special, *(f"w{n}" for n in range(100))]
        (folder / "vocab.txt").write_text("\n".join(words), "utf-8")
        names = [f"web{n}" for n in range(arguments.stores)]
        links = names[:-1] or names
        stores = "\n".join(f"  {name}: {folder}/{name}" for name in names)
        (folder / "r.yaml").write_text(RECIPE.format(folder=folder, stores=stores), "utf-8")
        num_ids = arguments.planted // len(links)
        planted = random.Random(0).sample(range(arguments.documents), num_ids)
        (num_tokens, wanted), cpu, _ = measured(
            lambda: write_store(folder / "web", arguments.documents, planted)
        )
        link_store(folder, links)
        wanted *= len(links)
        lone = id_of(planted[0])
        if len(names) > 1:
            lone = id_of(planted[0] + arguments.documents)
            own = folder / names[-1], arguments.documents, planted[:1], arguments.documents
            write_store(*own)
        size = (folder / "web.provenance").stat().st_size
        print("# Tracing documents\n")
        print(describe_machine() + "\n")
        print(
            f"{arguments.documents:,} documents, {num_tokens:,} tokens in each of"
            f" {arguments.stores:,} stores; the list of where they came from has"
            f" {size / 1e6:,.0f} MB, written in {cpu:,.0f} s\n"
        )
        recipe = Recipe.from_file(str(folder / "r.yaml"))
        ids = [[lone], *(map(id_of, planted[:many]) for many in sorted({1, 100, num_ids}))]
        traced = trace_all(folder, ids)
        assert len(traced) == num_ids * len(links)
        read = num_read(traced)
        num_false, num_places = count_false(traced, recipe)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"\n{read:,} of {wanted:,} tokens of planted documents were found. In {CHECKED_STEPS}"
            f" steps, {num_false:,} of {num_places:,} places are missing or false. Memory: at most"
            f" {peak:.1f} GB, mapped files included."
        )
        if read != wanted or num_false:
            sys.exit("a trace is wrong")


if __name__ == "__main__":
    main()
