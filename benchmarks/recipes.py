"""Batches of a recipe beside those of other programs, as Markdown.

    python benchmarks/recipes.py > benchmarks/results/recipes.md

The text is ../shared/data/corpora/movie_reviews.txt, and its token store at sentence level, in the
page cache. All run in turn; a figure is the median of the rounds, by the CPU time of the
process (all threads). A masked token is one to predict. Peers: with `datasets` and `transformers`
that of run_mlm.py, DataCollatorForLanguageModeling over the same sequences in an Arrow file; with
--megatron=CHECKOUT, in which `make -C megatron/core/datasets` has run, Megatron-LM's BERT dataset
over the same token store.
"""

import argparse
import functools
import importlib.util
import os
import statistics
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine, size_of  # noqa: E402

DATA = CHECKOUT.parent / "shared" / "data"
VOCAB = str(DATA / "vocab" / "bert-base-uncased.txt")
TEXT = str(DATA / "corpora" / "movie_reviews.txt")
RATE = 0.15
PEER_SECONDS = 3.0
NONE = ("none", 10**8, 64)
"""Objective, documents, and tokens of each, of a store whose lengths a start reads."""
DUPES = 10
"""Epochs of records that are masked when they are made: Google's default."""


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
    from bert_data.recipes.run_batches import iterate_recipe_arrays

    return iterate_recipe_arrays(recipe(folder, length, batching, words, epochs))


def of_collator(
    folder: str, length: int, batching: str, words: bool, epochs: int
) -> Iterator[int] | None:
    """Batches of Hugging Face's collator over the same sequences, or None where there are none."""
    from bert_data.recipes.run_batches import iterate_recipe_arrays

    if words or batching != "pools" or not has_torch("datasets", "transformers"):
        return None
    del epochs

    def rows() -> Iterator[list[int]]:
        for batch in iterate_recipe_arrays(recipe(folder, length, "plain", words, 1)):
            ends = batch["input_mask"].sum(axis=1)
            for row, end in zip(batch["input_ids"], ends, strict=True):
                yield row[:end].tolist()

    return collator_batches(f"{folder}/arrow-{length}", VOCAB, rows, 32_768 // length)


def of_megatron(
    checkout: str, folder: str, length: int, batching: str, words: bool, epochs: int
) -> Iterator[int] | None:
    """Batches of Megatron-LM's BERT dataset, or None where there is none."""
    del epochs
    if batching != "pools" or not checkout or not has_torch():
        return None
    return megatron_batches(
        checkout, f"{folder}/store", VOCAB, length, 32_768 // length, words=words
    )


def collator_batches(
    folder: str, vocab_file: str, rows: Callable[[], Iterator[list[int]]], batch_size: int
) -> Iterator[int]:
    """Masked tokens of each batch of DataCollatorForLanguageModeling over an Arrow file.

    Args:
      folder: for the Arrow file, which is made once.
      rows: ids of sequences, with special tokens.
    """
    import datasets
    import torch
    from transformers import BertTokenizerFast, DataCollatorForLanguageModeling

    if not Path(folder).exists():
        datasets.disable_progress_bars()
        made = datasets.Dataset.from_generator(
            lambda: ({"input_ids": ids} for ids in rows()), cache_dir=f"{folder}-made"
        )
        made.save_to_disk(folder)
    collate = DataCollatorForLanguageModeling(BertTokenizerFast(vocab_file), mlm_probability=0.15)
    loader = torch.utils.data.DataLoader(
        datasets.load_from_disk(folder), batch_size=batch_size, shuffle=True, collate_fn=collate
    )
    for batch in loader:
        yield int((batch["labels"] != -100).sum())


def _import_megatron(checkout: str) -> Any:
    """Return the module of its BERT dataset, without what trains, which needs a GPU's packages."""
    import numpy as np

    sys.path.insert(0, checkout)
    for name in ("megatron.core", "megatron.core.utils", "megatron.core.safe_globals"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["megatron.core"].__path__ = [f"{checkout}/megatron/core"]
    from megatron.core import _rank_utils

    sys.modules["megatron.core.utils"].log_single_rank = _rank_utils.log_single_rank  # type: ignore[attr-defined]
    sys.modules["megatron.core.safe_globals"].safe_numpy_load = np.load  # type: ignore[attr-defined]
    from megatron.core.datasets import bert_dataset

    return bert_dataset


class _Tokenizer:
    """What the dataset asks of Megatron-LM's tokenizer."""

    unique_identifiers = {"class": "BertWordPiece"}  # noqa: RUF012

    def __init__(self, vocab_file: str) -> None:
        tokens = Path(vocab_file).read_text(encoding="utf-8").splitlines()
        self.inv_vocab = dict(enumerate(tokens))
        self.cls, self.sep, self.mask, self.pad = map(
            tokens.index, ("[CLS]", "[SEP]", "[MASK]", "[PAD]")
        )


def megatron_batches(
    checkout: str, store: str, vocab_file: str, length: int, batch_size: int, *, words: bool
) -> Iterator[int]:
    """Masked tokens of each batch of BERTMaskedWordPieceDataset, one segment a sequence.

    Args:
      checkout: of Megatron-LM, with megatron/core/datasets/helpers.cpp compiled by its Makefile.
    """
    import numpy as np
    import torch

    bert = _import_megatron(checkout)
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group(
            "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
        )
    config = bert.BERTMaskedWordPieceDatasetConfig(
        random_seed=1, sequence_length=length, blend=([store], None), split="1,0,0",
        tokenizer=_Tokenizer(vocab_file), path_to_cache=f"{store}-cache", masking_probability=0.15,
        short_sequence_probability=0.0, masking_max_ngram=1, masking_do_full_word=words,
        masking_do_permutation=False, masking_use_longer_ngrams=False,
        masking_use_geometric_distribution=False, classification_head=False,
    )  # fmt: skip
    indexed = bert.IndexedDataset(store)
    documents = np.arange(indexed.document_indices.size - 1, dtype=np.int32)
    num_samples = int(indexed.sequence_lengths.sum()) // length
    dataset = bert.BERTMaskedWordPieceDataset(
        indexed, store, documents, num_samples, bert.Split.train, config
    )
    for batch in torch.utils.data.DataLoader(dataset, batch_size=batch_size, shuffle=True):
        yield int(batch["loss_mask"].sum())


def has_torch(*more: str) -> bool:
    """Whether torch and other packages are installed."""
    return all(importlib.util.find_spec(name) for name in ("torch", *more))


def rate_of(batches: Iterator[Any] | None) -> float | None:
    """Millions of masked tokens a CPU second; the first batch is not counted.

    Peers say the number of a batch, and are stopped after a few seconds.
    """
    if batches is None:
        return None
    is_peer = isinstance(next(batches), int)
    begin, count = time.process_time(), 0
    for batch in batches:
        count += batch if is_peer else int(batch["masked_lm_weights"].sum())
        if is_peer and time.process_time() - begin > PEER_SECONDS:
            break
    return count / (time.process_time() - begin) / 1e6


def show_rates(
    folder: str, lengths: tuple[int, ...], rounds: int, epochs: int, megatron: str
) -> None:
    """Print the table of speeds."""
    ways = (of_recipe, of_collator, functools.partial(of_megatron, megatron))
    print("\n## Masked tokens, millions a CPU second\n")
    print(
        "| length | batching | masking | recipe | collator | of collator"
        " | Megatron-LM | of Megatron-LM |\n|" + "---|" * 8
    )
    for length in lengths:
        for batching in ("pools", "packed"):
            for words in (False, True):
                taken: list[list[float]] = [[] for _ in ways]
                for number in range(rounds + 1):
                    for way, found in zip(ways, taken, strict=True):
                        rate = rate_of(way(folder, length, batching, words, epochs))
                        if rate is not None and number:
                            found.append(rate)
                masking = "words" if words else "tokens"
                own, *others = (statistics.median(found) if found else None for found in taken)
                assert own is not None
                shown = [
                    f"{short(other)} | {short(own / other)}" if other else " | " for other in others
                ]
                row = (str(length), batching, masking, short(own), *shown)
                print("| " + " | ".join(row) + " |", flush=True)


def short(number: float) -> str:
    """Three digits of a number."""
    return f"{float(f'{number:.3g}'):,.0f}" if number >= 100 else f"{number:.3g}"


def show_sizes(folder: str, lengths: tuple[int, ...]) -> None:
    """Print the bytes on disk of a run of several epochs, each masked anew."""
    from bert_data.records.instances.instance_config import InstanceConfig
    from bert_data.records.sets.creating import create_dataset
    from bert_data.records.sets.dataset_config import DatasetConfig

    print("\n## Bytes on disk\n")
    store = size_of(folder, "store.*")
    print(
        f"A recipe reads the token store, {store / 1e6:.1f} MB, for any length, objective, rate and"
        f" number of epochs. Records are made for each length, and with `dupe_factor={DUPES}`"
        f" if each of {DUPES} epochs has masks of its own:\n"
    )
    print(
        f"| length | {DUPES} times masked | of the store | Arrow, once | of the store |\n|"
        + "---|" * 5
    )
    for length in lengths:
        instances = InstanceConfig(
            max_seq_length=length, max_predictions_per_seq=round(length * RATE),
            dupe_factor=DUPES, short_seq_prob=0.0, next_sentence="none",
        )  # fmt: skip
        create_dataset(
            DatasetConfig(
                input_file=TEXT, output_file=f"{folder}/masked-{length}@4", vocab_file=VOCAB,
                instances=instances, num_examples=0,
            )
        )  # fmt: skip
        patterns = (f"masked-{length}-*", f"arrow-{length}/*.arrow")
        sizes = [size_of(folder, pattern) for pattern in patterns]
        shown = [f"{size / 1e6:.1f} MB | {size / store:.1f}" if size else " | " for size in sizes]
        print(f"| {length} | " + " | ".join(shown) + " |")


def show_balance(folder: str, lengths: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    """Print how many more tokens than the mean the rank with the most has, and the padding."""
    import numpy as np

    from bert_data.recipes.run_batches import iterate_recipe_arrays

    print("\n## Ranks\n")
    print(
        "Tokens of the rank with the most beside the mean, of one epoch in batches of 32,768"
        " positions without its last batch: over all batches (the sum of the most by that of the"
        " means), and in the worst batch.\n"
    )
    print("| length | batching | " + " | ".join(f"{each} ranks" for each in ranks) + " | padding |")
    print("|" + "---|" * (3 + len(ranks)))
    for length in lengths:
        for batching in ("pools", "packed", "flat"):
            own, cells = recipe(folder, length, batching, False, 1), []
            whole = [batch["input_mask"] for batch in iterate_recipe_arrays(own)][:-1]
            padding = 1 - sum(int(each.sum()) for each in whole) / sum(each.size for each in whole)
            for number in ranks:
                tokens = np.array([
                    [
                        int(batch["input_mask"].sum())
                        for batch in iterate_recipe_arrays(own, num_hosts=number, host_index=rank)
                    ][:-1]
                    for rank in range(number)
                ])  # fmt: skip
                most, mean = tokens.max(axis=0), tokens.mean(axis=0)
                cells.append(f"{most.sum() / mean.sum():.3f}, {(most / mean).max():.3f}")
            print(f"| {length} | {batching} | {' | '.join(cells)} | {padding:.2%} |", flush=True)


def show_starts(folder: str) -> None:
    """Print the CPU time to the first batch, and to one in the middle, of sparse stores."""
    import numpy as np

    from bert_data.recipes.recipe import Recipe, Stage
    from bert_data.recipes.recipe_run import Run
    from bert_data.recipes.run_batches import iterate_placed
    from bert_data.tokens.store import CODES, HEADER, INDEX_MAGIC

    print("\n## CPU seconds to the first batch, by the number of sequences\n")
    print("Sparse token stores, sequences of 128, pools of 64 batches. The second start of `none`")
    print("reads what the first has kept in `cache_dir`.\n")
    print("| objective | documents | sequences | open | first batch | a batch in the middle |")
    print("|---|---|---|---|---|---|")
    tokens = [("tokens", 10**power, 128 * 10**6) for power in (0, 2, 4)]
    for number, (objective, documents, per_document) in enumerate([*tokens, *[NONE] * 2]):
        prefix = f"{folder}/sparse"
        if number <= len(tokens):
            with open(prefix + ".idx", "wb") as file:
                code = CODES[np.dtype("<u2")]
                file.write(HEADER.pack(INDEX_MAGIC, 1, code, documents, documents + 1))
                np.full(documents, per_document, "<i4").tofile(file)
                (np.arange(documents, dtype="<i8") * per_document * 2).tofile(file)
                np.arange(documents + 1, dtype="<i8").tofile(file)
            with open(prefix + ".bin", "wb") as file:
                file.truncate(documents * per_document * 2)
        begin = time.process_time()
        stage = Stage(epochs=1, objective=objective, max_seq_length=128, batch_size=256)
        stores, kept = {"sparse": prefix}, f"{folder}/kept"
        run = Run(Recipe(vocab_file=VOCAB, stores=stores, stages=(stage,), cache_dir=kept))
        opened = time.process_time()
        next(iterate_placed(run))
        first = time.process_time()
        place = run.place(run.stages[0].num_sequences // 512)
        next(iterate_placed(Run(run.recipe), place))
        middle = time.process_time()
        print(
            f"| {objective} | {documents:,} | {run.stages[0].num_sequences:,} |"
            f" {opened - begin:.2f} s | {first - opened:.2f} s | {middle - first:.2f} s |"
        )  # fmt: skip


def main() -> None:
    import bert_data

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--megatron", default="")
    options = parser.parse_args()
    lengths = (128, 512)
    print("# Recipes\n")
    print(
        "`python benchmarks/recipes.py`: batches of a recipe beside those of other programs. "
        f"{describe_machine()}; load average {os.getloadavg()[1]:.1f} before"
    )
    with tempfile.TemporaryDirectory() as folder:
        bert_data.tokenize(TEXT, f"{folder}/store", vocab_file=VOCAB, level="sentence")
        show_rates(folder, lengths, options.rounds, options.epochs, options.megatron)
        show_sizes(folder, lengths)
        show_balance(folder, lengths, (2, 8, 64))
        show_starts(folder)
    print(f"\nLoad average afterwards: {os.getloadavg()[1]:.1f}")


if __name__ == "__main__":
    main()
