"""Planted documents among many, traced to all steps of a run that read them, and back.

    python benchmarks/tracing.py --documents=20000000 --planted=10000

The store has holes in place of its tokens, but for the planted documents, whose tokens are written;
its index and the list of where its documents came from are whole. The run reads each token once, so
a trace is complete if its exposures have as many tokens as the documents. It is right if the
batches of some of the steps hold planted tokens where it says, and nowhere else.
"""

import argparse
import collections
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from machine import describe_machine

from bert_data.inspection.configs import TraceConfig
from bert_data.inspection.tracing import trace_documents
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
stores: {{web: {folder}/web}}
stages: [{{epochs: 1, max_seq_length: 512, batch_size: 256, objective: tokens}}]
"""


def sizes_of(first, last):
    """The tokens of documents, by their numbers."""
    return 100 + (np.arange(first, last) * 2654435761 >> 7) % (2 * TOKENS - 199)


def id_of(number):
    return f"<urn:uuid:{number * 0x9E3779B97F4A7C15 % 2**64:016x}>"


def write_store(folder, num_documents, planted):
    """Write a store, and where its documents came from; return the tokens of the planted ones."""
    parts = [(n, min(n + GROUP_ROWS, num_documents)) for n in range(0, num_documents, GROUP_ROWS)]
    with open(folder / "web.idx", "wb") as file:
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
    with open(folder / "web.bin", "wb") as file:
        file.truncate(2 * start)
        for begin, end in spans:
            file.seek(2 * begin)
            file.write(np.full(end - begin, MARK, "<u2").tobytes())
    store = SimpleNamespace(
        prefix=str(folder / "web"),
        shape=StoreShape(level="document", empty_documents=MEGATRON),
        num_documents=num_documents,
        files={"idx": FileSummary(num_bytes=0, crc32=0)},
    )
    rule = ProvenanceRule(fields={name: name for name in FIELDS})
    with ProvenanceWriter(store, rule) as writer:
        for first, last in parts:
            numbers = np.arange(first, last)
            columns = {
                "id": [id_of(n) for n in range(first, last)],
                "url": [f"https://www.site{n % 9973}.org/page/{n}" for n in range(first, last)],
                "license": ["CC-BY-4.0"] * (last - first),
            }
            ends = numbers - first + 1
            places = Places("web.jsonl", ends - 1, numbers + 1, columns)
            writer.add(places, last - first, ends)
    return start, sum(end - begin for begin, end in spans)


def measured(action):
    before, begun = time.process_time(), time.perf_counter()
    result = action()
    return result, time.process_time() - before, time.perf_counter() - begun


def count_false(traced, recipe):
    """Compare some steps with their batches; return how many places are missing or false."""
    steps = collections.defaultdict(set)
    for document in traced:
        for each in document.exposures["web"]:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000_000)
    parser.add_argument("--planted", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        words = [*special, *(f"w{n}" for n in range(100))]
        (folder / "vocab.txt").write_text("\n".join(words), "utf-8")
        (folder / "r.yaml").write_text(RECIPE.format(folder=folder), "utf-8")
        planted = random.Random(0).sample(range(arguments.documents), arguments.planted)
        (num_tokens, wanted), cpu, _ = measured(
            lambda: write_store(folder, arguments.documents, planted)
        )
        size = (folder / "web.provenance").stat().st_size
        print("# Tracing documents\n")
        print(describe_machine() + "\n")
        print(
            f"{arguments.documents:,} documents, {num_tokens:,} tokens; the list of where they came"
            f" from has {size / 1e6:,.0f} MB, written in {cpu:,.0f} s\n"
        )
        recipe = Recipe.from_file(str(folder / "r.yaml"))
        print("| documents traced | CPU seconds | of each |\n|--:|--:|--:|")
        for many in (1, 100, arguments.planted):
            (folder / "ids.txt").write_text("\n".join(map(id_of, planted[:many])), "utf-8")
            config = TraceConfig(documents=f"{folder}/ids.txt", recipe=f"{folder}/r.yaml")
            traced, cpu, _ = measured(lambda config=config: trace_documents(config))
            print(f"| {many:,} | {cpu:.2f} | {cpu / many:.3f} |", flush=True)
            assert len(traced) == many
        read = sum(len(each.columns) for one in traced for each in one.exposures["web"])
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
