"""Batches of a recipe beside records with dynamic masking, as Markdown.

    python benchmarks/recipes.py > benchmarks/results/recipes.md

The text is ../shared/data/corpora/movie_reviews.txt, its token store at sentence level, and its
records of the same objective (none), ragged, made once without predictions (dupe_factor 1), in the
page cache. Both ways run in turn; a figure is the median of the rounds, by the CPU time of the
process (all threads). A masked token is one to predict. The peer, if `transformers` is installed,
is its DataCollatorForLanguageModeling over lists of the same ids, without reading.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

DATA = CHECKOUT.parent / "shared" / "data"
VOCAB = str(DATA / "vocab" / "bert-base-uncased.txt")
TEXT = str(DATA / "corpora" / "movie_reviews.txt")
RATE = 0.15


def make_data(folder: str, lengths: tuple[int, ...]) -> None:
    """Write the token store, and for each length the records."""
    import bert_data
    from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
    from bert_data.objectives.making import InstanceConfig

    bert_data.tokenize(TEXT, f"{folder}/store", vocab_file=VOCAB, level="sentence")
    for length in lengths:
        instances = InstanceConfig(
            max_seq_length=length, max_predictions_per_seq=0, dupe_factor=1, short_seq_prob=0.0,
            next_sentence="none",
        )  # fmt: skip
        create_dataset(
            DatasetConfig(
                input_file=TEXT, output_file=f"{folder}/records-{length}@4", vocab_file=VOCAB,
                instances=instances, num_examples=0,
            )
        )  # fmt: skip


def recipe(folder: str, length: int, batching: str, words: bool, epochs: int) -> Any:
    """The recipe of the store's epochs."""
    from bert_data.recipes.recipe import Recipe, Stage, StageMasking

    stage = Stage(
        epochs=epochs, objective="none", max_seq_length=length, batch_size=32_768 // length,
        batching=batching, masking=StageMasking(rate=RATE, whole_words=words),
    )  # fmt: skip
    return Recipe(vocab_file=VOCAB, stores={"reviews": f"{folder}/store"}, stages=(stage,))


def of_recipe(
    folder: str, length: int, batching: str, words: bool, epochs: int
) -> Iterator[dict[str, Any]]:
    """Batches of a recipe."""
    from bert_data.recipes.run_batches import iterate_arrays

    return iterate_arrays(recipe(folder, length, batching, words, epochs))


def of_records(
    folder: str, length: int, batching: str, words: bool, epochs: int
) -> Iterator[dict[str, Any]]:
    """Batches of records with dynamic masking."""
    from bert_data.reader import ReaderConfig, iterate_arrays

    return iterate_arrays(
        ReaderConfig(
            input_patterns=f"{folder}/records-{length}-*", batch_size=32_768 // length,
            batching=batching, shuffle=True, num_epochs=epochs, dynamic_masking=True,
            masked_lm_prob=RATE, max_predictions_per_seq=round(length * RATE),
            do_whole_word_mask=words, vocab_file=VOCAB,
        )
    )  # fmt: skip


def of_collator(
    folder: str, length: int, batching: str, words: bool, epochs: int
) -> Iterator[dict[str, Any]] | None:
    """Batches of Hugging Face's collator, or None where it is not installed."""
    try:
        from transformers import BertTokenizerFast, DataCollatorForLanguageModeling
    except ImportError:
        return None
    from bert_data.recipes.run_batches import iterate_arrays

    if words or batching != "pools":
        return None
    collate = DataCollatorForLanguageModeling(BertTokenizerFast(VOCAB), mlm_probability=RATE)
    rows = []
    for batch in iterate_arrays(recipe(folder, length, batching, words, 1)):
        ends = batch["input_mask"].sum(axis=1)
        rows.append([row[:end].tolist() for row, end in zip(batch["input_ids"], ends, strict=True)])

    def batches() -> Iterator[dict[str, Any]]:
        for own in rows:
            made = collate([{"input_ids": ids} for ids in own])
            yield {"masked_lm_weights": (made["labels"] != -100).numpy()}

    return batches()


def rate_of(batches: Iterator[dict[str, Any]] | None) -> float | None:
    """Millions of masked tokens a CPU second; the first batch is not counted."""
    if batches is None:
        return None
    next(batches)
    begin, count = time.process_time(), 0
    for batch in batches:
        count += int(batch["masked_lm_weights"].sum())
    return count / (time.process_time() - begin) / 1e6


def show_rates(folder: str, lengths: tuple[int, ...], rounds: int, epochs: int) -> None:
    """Print the table of speeds."""
    ways = (of_recipe, of_records, of_collator)
    print("\n## Masked tokens, millions a CPU second\n")
    print("| length | batching | masking | recipe | records | ratio | collator |")
    print("|---|---|---|---|---|---|---|")
    for length in lengths:
        for batching in ("pools", "packed"):
            for words in (False, True):
                taken: list[list[float]] = [[] for _ in ways]
                for number in range(rounds + 1):
                    for way, found in zip(ways, taken, strict=True):
                        rate = rate_of(way(folder, length, batching, words, epochs))
                        if rate is not None and number:
                            found.append(rate)
                medians = [statistics.median(found) if found else None for found in taken]
                shown = ["" if median is None else f"{median:.1f}" for median in medians]
                assert medians[0] is not None
                assert medians[1] is not None
                masking = "words" if words else "tokens"
                print(
                    f"| {length} | {batching} | {masking} | {shown[0]} | {shown[1]} |"
                    f" {medians[0] / medians[1]:.2f} | {shown[2]} |", flush=True,
                )  # fmt: skip


def size_of(pattern: str) -> int:
    """Bytes of the files of a pattern."""
    folder, name = os.path.split(pattern)
    return sum(path.stat().st_size for path in Path(folder).glob(name))


def show_sizes(folder: str, lengths: tuple[int, ...]) -> None:
    """Print the bytes on disk."""
    print("\n## Bytes on disk\n")
    store = size_of(f"{folder}/store.*")
    print(f"The token store takes {store / 1e6:.1f} MB, for any length, objective and rate.\n")
    print("| length | records, once without predictions | of the store |")
    print("|---|---|---|")
    for length in lengths:
        size = size_of(f"{folder}/records-{length}-*")
        print(f"| {length} | {size / 1e6:.1f} MB | {size / store:.1f} |")


def show_starts(folder: str) -> None:
    """Print the time to the first batch, and to one in the middle, of sparse stores."""
    import numpy as np

    from bert_data.recipes.recipe import Recipe, Stage
    from bert_data.recipes.recipe_run import Run
    from bert_data.recipes.run_batches import iterate_placed
    from bert_data.tokens.store import CODES, HEADER, MAGIC

    print("\n## Time to the first batch, by the number of sequences\n")
    print("Sparse token stores, the stream of tokens in sequences of 128, pools of 64 batches.\n")
    print("| sequences | open | first batch | a batch in the middle |")
    print("|---|---|---|---|")
    for power in (6, 8, 10):
        prefix, documents = f"{folder}/sparse", 10 ** (power - 6)
        per_document = 128 * 10**6
        lengths = np.full(documents, per_document, "<i4")
        offsets = np.arange(documents, dtype="<i8") * per_document * 2
        bounds = np.arange(documents + 1, dtype="<i8")
        header = HEADER.pack(MAGIC, 1, CODES[np.dtype("<u2")], documents, documents + 1)
        index = header + lengths.tobytes() + offsets.tobytes() + bounds.tobytes()
        Path(prefix + ".idx").write_bytes(index)
        with open(prefix + ".bin", "wb") as file:
            file.truncate(documents * per_document * 2)
        begin = time.perf_counter()
        stage = Stage(epochs=1, objective="tokens", max_seq_length=128, batch_size=256)
        run = Run(Recipe(vocab_file=VOCAB, stores={"sparse": prefix}, stages=(stage,)))
        opened = time.perf_counter()
        next(iterate_placed(run))
        first = time.perf_counter()
        place = run.place(run.stages[0].num_sequences // 512)
        next(iterate_placed(Run(run.recipe), place))
        middle = time.perf_counter()
        print(
            f"| {run.stages[0].num_sequences:,} | {opened - begin:.2f} s | {first - opened:.2f} s |"
            f" {middle - first:.2f} s |"
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()
    lengths = (128, 512)
    print("# Recipes\n")
    print(
        "`python benchmarks/recipes.py`: batches of a recipe beside records. " + describe_machine()
    )
    with tempfile.TemporaryDirectory() as folder:
        make_data(folder, lengths)
        show_rates(folder, lengths, options.rounds, options.epochs)
        show_sizes(folder, lengths)
        show_starts(folder)


if __name__ == "__main__":
    main()
