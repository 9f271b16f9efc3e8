"""A model learns as much by a recipe as by records with dynamic masking, as Markdown.

    python benchmarks/learning.py > benchmarks/results/learning.md

The text is that of `make demo`: the prose of Python's documentation, one document in twelve held
out. The model is its small one (1 layer, hidden 64), which trains for as many steps with batches of
as many tokens, 15% of which are predicted: by records (made once, without predictions, and masked
as they are read) and by a recipe from the token store. Each way trains with five seeds, of the
weights, the order and the masks. The loss is that of the same held-out records.
"""

import argparse
import dataclasses
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

LENGTH, RATE, ROWS, VOCAB_SIZE, HELD_OUT_EVERY = 32, 0.15, 32, 3000, 12
PREDICTIONS = round(LENGTH * RATE)


def make_data(folder: str) -> None:
    """Write the texts, the vocabulary, the records and the token store."""
    import bert_data
    from examples.demo.python_prose import read_documents, split_documents, write_documents

    parts = split_documents(read_documents(), held_out_every=HELD_OUT_EVERY)
    for name, documents in zip(("train", "held_out"), parts, strict=True):
        write_documents(Path(folder) / f"{name}.txt", documents)
    vocab_file, text = f"{folder}/vocab.txt", f"{folder}/train.txt"
    bert_data.train_vocab(text, vocab_file, vocab_size=VOCAB_SIZE)
    common = {
        "vocab_file": vocab_file, "max_seq_length": LENGTH, "next_sentence": "none",
        "short_seq_prob": 0.0, "num_examples": 0,
    }  # fmt: skip
    bert_data.create_records(
        text, f"{folder}/train", dupe_factor=1, max_predictions_per_seq=0, **common
    )
    bert_data.create_records(
        f"{folder}/held_out.txt", f"{folder}/held_out", dupe_factor=4,
        max_predictions_per_seq=PREDICTIONS, **common,
    )  # fmt: skip
    bert_data.tokenize(text, f"{folder}/store", vocab_file=vocab_file, level="sentence")


def recipe_of(folder: str, seed: int, rows: int, **end: Any) -> Any:
    """The recipe of a run."""
    import bert_data

    stage = bert_data.Stage(
        max_seq_length=LENGTH, batch_size=rows, max_predictions_per_seq=PREDICTIONS,
        masking=bert_data.StageMasking(rate=RATE), **end,
    )  # fmt: skip
    return bert_data.Recipe(
        seed=seed, vocab_file=f"{folder}/vocab.txt", stores={"demo": f"{folder}/store"},
        stages=(stage,),
    )  # fmt: skip


def records_of(folder: str, seed: int, num_epochs: int | None = None) -> Any:
    """How the records are read."""
    from bert_data.reader import ReaderConfig

    return ReaderConfig(
        input_patterns=f"{folder}/train", batch_size=ROWS, batching="pools", shuffle=True,
        num_epochs=num_epochs, seed=seed, dynamic_masking=True, masked_lm_prob=RATE,
        max_predictions_per_seq=PREDICTIONS, vocab_file=f"{folder}/vocab.txt",
    )  # fmt: skip


def tokens_a_row(batches: Any) -> float:
    """Mean tokens of the rows that are there."""
    masks = [batch["input_mask"] for batch in batches]
    return sum(m.sum() for m in masks) / sum(m.any(axis=1).sum() for m in masks)


def train(folder: str, way: str, seed: int, steps: int, rows: int) -> Any:
    """Train; return the model."""
    from bert_data import training
    from bert_data.recipes.recipe_run import Run
    from bert_data.training.bert_config import BertConfig
    from bert_data.training.reader_configs import train_on_records
    from bert_data.training.recipe_reading import RecipeReading

    config = BertConfig.load(str(CHECKOUT / "examples/demo/small_config.json"))
    settings = training.TrainingConfig(
        output_dir=f"{folder}/{way}-{seed}", num_train_steps=steps, num_warmup_steps=steps // 4,
        batch_size=1, learning_rate=3e-3, random_seed=seed, next_sentence="none",
        log_every_steps=100,
    )  # fmt: skip
    if way == "records":
        settings = dataclasses.replace(settings, batch_size=ROWS)
        return train_on_records(settings, config, records_of(folder, seed))
    reading = RecipeReading(Run(recipe_of(folder, seed, rows, steps=steps)))
    return training.train(settings, config, reading.make_batches, place=reading)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    import bert_data
    from bert_data import training
    from bert_data.reader import ReaderConfig, iterate_arrays, read_batches

    losses: dict[str, list[float]] = {"records": [], "recipe": []}
    with tempfile.TemporaryDirectory() as folder:
        make_data(folder)
        by_records = tokens_a_row(iterate_arrays(records_of(folder, 0, num_epochs=1)))
        by_recipe = tokens_a_row(bert_data.iterate_arrays(recipe_of(folder, 0, ROWS, epochs=1)))
        rows = round(ROWS * by_records / by_recipe)
        held_out = ReaderConfig(
            input_patterns=f"{folder}/held_out", batch_size=256, num_epochs=1,
            vocab_file=f"{folder}/vocab.txt",
        )  # fmt: skip
        for seed in range(options.seeds):
            for way, found in losses.items():
                model = train(folder, way, seed, options.steps, rows)
                results = training.evaluate(model, read_batches(held_out))
                found.append(results["masked_lm_loss"])
                print(f"{way} {seed}: {found[-1]:.4f}", file=sys.stderr, flush=True)
    print("# Learning by a recipe and by records\n")
    print(f"`python benchmarks/learning.py --steps={options.steps}`. {describe_machine()}\n")
    print(
        f"Batches of {ROWS} records with {by_records:.1f} tokens on average, and of {rows}"
        f" sequences of the recipe with {by_recipe:.1f}. Held-out loss of masked tokens, in nats,"
        f" after {options.steps:,} steps:\n"
    )
    print("| way | " + " | ".join(f"seed {seed}" for seed in range(options.seeds)), end=" | ")
    print("mean | deviation |\n|" + "---|" * (options.seeds + 3))
    for way, found in losses.items():
        shown = [*found, statistics.mean(found), statistics.stdev(found)]
        print(f"| {way} | " + " | ".join(f"{loss:.3f}" for loss in shown) + " |")
    one, other = losses.values()
    apart = statistics.mean(other) - statistics.mean(one)
    error = ((statistics.variance(one) + statistics.variance(other)) / options.seeds) ** 0.5
    print(
        f"\nThe recipe's mean is {apart:+.3f} from that of records; the standard error of the"
        f" difference is {error:.3f} ({abs(apart) / error:.1f} times)."
    )


if __name__ == "__main__":
    main()
