"""Recipes over token stores in a bucket, and how well they shuffle, as Markdown.

    python benchmarks/remote_recipes.py > benchmarks/results/remote_recipes.md

The store is that of ../shared/data/corpora/movie_reviews.txt, whole documents, 96 times, in as many
parts, in a server that speaks S3 on loopback, in a process of its own, which counts what is read. A
row is an epoch of batches of 256 sequences of 128 tokens, pooled; local copies may take a tenth of
the store. "CPU" is that of the reader's process, all threads; the server shares the cores.

How well epochs are shuffled is measured with a sparse store of a million sequences, whose numbers
stand for sources that lie one after the other in the store, over a run's pooled batches:

* neighbours: pairs of a batch less than 128 apart in the store, beside those of a full shuffle.
* spread: the variance of the batches' mean place in the store, beside that of a full
  shuffle. Blocks of b, windows of w and batches of n sequences give about 1 + n * b / w.
"""

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

DATA = CHECKOUT.parent / "shared" / "data"
VOCAB = str(DATA / "vocab" / "bert-base-uncased.txt")
TEXT = str(DATA / "corpora" / "movie_reviews.txt")
TIMES, BATCH = 96, 256


def serve(connection: Connection, folder: str) -> None:
    """Serves a store; then answers each message with the ranged reads since the last."""
    from tests.object_store import ObjectStore, Server

    server = Server()
    store = ObjectStore(server)
    for path in Path(folder).glob("store-*"):
        store.put(path.name, path.read_bytes())
    connection.send((server.environment(), store.uri(f"store@{TIMES}")))
    while connection.recv():
        reads = [r.range for r in store.requests if r.method == "GET" and r.range]
        ends = [each.removeprefix("bytes=").split("-") for each in reads]
        connection.send((len(reads), sum(int(end) - int(begin) + 1 for begin, end in ends)))
        store.requests.clear()


def make_store(folder: str) -> int:
    """Writes the store; returns the bytes of its files."""
    import bert_data

    bert_data.tokenize(TEXT, f"{folder}/one", vocab_file=VOCAB, level="document")
    endings = ("bin", "idx", "store.json")
    for part in range(TIMES):
        for ending in endings:
            os.link(f"{folder}/one.{ending}", f"{folder}/store-{part:05}-of-{TIMES:05}.{ending}")
    return TIMES * sum(Path(f"{folder}/one.{ending}").stat().st_size for ending in endings[:2])


def recipe(store: str, block: int, window: int, objective: str = "none") -> Any:
    """An epoch of a store."""
    from bert_data.recipes.recipe import Recipe, Stage

    stage = Stage(epochs=1, objective=objective, max_seq_length=128, batch_size=BATCH)
    return Recipe(
        vocab_file=VOCAB, stores={"store": store}, stages=(stage,), shuffle_block=block,
        shuffle_window=window,
    )  # fmt: skip


def show_reading(folder: str, uri: str, size: int, server: Connection) -> None:
    """Prints what an epoch reads and takes."""
    from bert_data.recipes.run_batches import iterate_recipe_arrays

    print("| store | shuffle_block | first batch | seconds | CPU | reads | MB | of the store |")
    print("|---|---|---|---|---|---|---|---|")
    for place, path in (("local", f"{folder}/store@{TIMES}"), ("bucket", uri)):
        for block in (128, 1024):
            for _ in iterate_recipe_arrays(recipe(f"{folder}/one", block, 1 << 14)):
                pass  # kernels are there
            server.send("forget")
            server.recv()
            start, cpu = time.perf_counter(), time.process_time()
            batches = iterate_recipe_arrays(recipe(path, block, 1 << 14))
            next(batches)
            first = time.perf_counter() - start
            for _ in batches:
                pass
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            server.send("count")
            count, num_bytes = server.recv()
            told = [f"{count:,}", f"{num_bytes / 1e6:.1f}", f"{num_bytes / size:.3f}"]
            shown = " | ".join(told if place == "bucket" else ["", "", ""])
            print(
                f"| {place} | {block:,} | {first:.2f} s | {seconds:.1f} | {cpu:.1f} | {shown} |",
                flush=True,
            )


def orders(store: str, block: int, window: int) -> Iterator[Any]:
    """The numbers of the sequences of each full batch."""
    from bert_data.recipes.recipe_run import START, Run

    for _, planned, _ in Run(recipe(store, block, window, "tokens")).planned(START):
        numbers = planned.drawn.numbers[planned.plan.records]
        yield from numbers[: numbers.size // BATCH * BATCH].reshape(-1, BATCH)


def show_quality(folder: str, num_sequences: int = 10**6) -> None:
    """Prints how well an epoch is shuffled."""
    import numpy as np

    from bert_data.tokens.store import CODES, HEADER, INDEX_MAGIC

    prefix, size = f"{folder}/sparse", 128 * num_sequences
    header = HEADER.pack(INDEX_MAGIC, 1, CODES[np.dtype("<u2")], 1, 2)
    arrays = np.array([size], "<i4"), np.zeros(1, "<i8"), np.array([0, 1], "<i8")
    Path(prefix + ".idx").write_bytes(header + b"".join(each.tobytes() for each in arrays))
    with open(prefix + ".bin", "wb") as file:
        file.truncate(2 * size)

    def measure(batches: list[Any]) -> tuple[float, float]:
        near = 0
        for batch in batches:
            ordered = np.sort(batch)
            near += int((np.searchsorted(ordered, ordered + 128) - np.arange(1, BATCH + 1)).sum())
        return near / len(batches), float(np.var([batch.mean() for batch in batches]))

    numbers = np.random.default_rng(1).permutation(num_sequences)
    full = measure(list(numbers[: num_sequences // BATCH * BATCH].reshape(-1, BATCH)))
    print("\n## How well it shuffles\n")
    columns = "shuffle_block", "shuffle_window", "neighbours", "if full", "spread", "1 + n b / w"
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for block, window in ((1024, 1 << 14), (128, 1 << 14), (16, 1 << 14), (1024, 1 << 17),
                          (128, 1 << 17), (1024, 1 << 20)):  # fmt: skip
        near, spread = measure(list(orders(prefix, block, window)))
        print(
            f"| {block:,} | {window:,} | {near:.1f} | {full[0]:.1f} | {spread / full[1]:.2f} |"
            f" {1 + BATCH * block / window:.2f} |", flush=True,
        )  # fmt: skip


def main() -> None:
    print("# Recipes over a bucket\n")
    with tempfile.TemporaryDirectory() as folder:
        size = make_store(folder)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        server = context.Process(target=serve, args=(theirs, folder), daemon=True)
        server.start()
        environment, uri = ours.recv()
        os.environ.update(environment)
        os.environ["BERT_DATA_COPIES"] = folder
        os.environ["BERT_DATA_COPIES_GB"] = str(size / 10 / 1e9)
        print(f"`python benchmarks/remote_recipes.py`. {describe_machine()}\n")
        print(
            f"A token store of {size / 1e6:.0f} MB; an epoch of each. The `.idx` files are"
            " copied by the first run in the bucket.\n"
        )
        show_reading(folder, uri, size, ours)
        ours.send(None)
        server.join()
        show_quality(folder)


if __name__ == "__main__":
    main()
