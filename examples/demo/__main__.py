"""Train a small BERT that guesses masked words, on the English text that comes with Python.

    .venv/bin/python -m examples.demo          (make demo does the same, and sets up .venv before)
    .venv/bin/python -m examples.demo 1500     steps of training instead of 2,000
    .venv/bin/python -m examples.demo --small  a smaller model, in less than half the time

Everything is written to demo_output/; a second run starts again. The printed commands can be
pasted, and work on your own text too.
"""

import dataclasses
import functools
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.demo import commands
from examples.demo.python_prose import read_documents, split_documents, write_documents
from examples.demo.results import load_results, show_curve, show_guesses, show_losses

OUTPUT = Path("demo_output")
HELD_OUT_EVERY = 12
MAX_SEQ_LENGTH = 32
MAX_PREDICTIONS = 5
NUM_EVALUATIONS = 10
VOCAB_SIZE = 3000

run = functools.partial(commands.run, example="demo")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
    """A model and its training, small enough for two cores and a few minutes.

    Attributes:
      config_file: its sizes. No dropout: there is more text than time.
      description: for the heading.
      batch_size, learning_rate, num_steps: of its training.
    """

    config_file: Path
    description: str
    batch_size: int
    learning_rate: float
    num_steps: int


HERE = Path(__file__).parent
USUAL = Model(
    config_file=HERE / "bert_config.json",
    description="a BERT of two layers, two to four minutes on two cores",
    batch_size=64,
    learning_rate=1.5e-3,
    num_steps=2000,
)
SMALL = Model(
    config_file=HERE / "small_config.json",
    description="a BERT of one narrow layer, a minute on two cores",
    batch_size=32,
    learning_rate=3e-3,
    num_steps=3000,
)


def main() -> None:
    """Runs all steps."""
    model = parse_model(sys.argv[1:])
    if not Path("run_pretraining.py").exists():
        sys.exit("demo: run it from the project's top folder")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    write_text()
    make_vocabulary()
    make_records()
    train(model)
    title("5. What it has learned")
    results = load_results(OUTPUT)
    show_curve(results)
    learned = show_losses(results)
    show_guesses(results)
    if not learned:
        sys.exit(1)


def parse_model(arguments: Sequence[str]) -> Model:
    """Return the model to train."""
    parser = commands.ExampleParser("demo", __doc__)
    parser.add_argument(
        "steps",
        type=int,
        nargs="?",
        help=f"of training (default {USUAL.num_steps:,}, or {SMALL.num_steps:,} with --small)",
    )
    parser.add_argument("--small", action="store_true", help="a smaller model")
    parsed = parser.parse_args(arguments)
    model = SMALL if parsed.small else USUAL
    if parsed.steps is None:
        return model
    if parsed.steps < NUM_EVALUATIONS:
        parser.error(f"{parsed.steps:,} steps; at least {NUM_EVALUATIONS} are needed")
    return dataclasses.replace(model, num_steps=parsed.steps)


def title(text: str) -> None:
    """Print the heading of a step."""
    print(f"\n== {text}", flush=True)


def write_text() -> None:
    """Write the text to train on and, from other documents, the text to evaluate on."""
    title("1. Text: the prose in Python's own documentation, one sentence a line")
    print()
    documents = read_documents()
    train_documents, held_out = split_documents(documents, held_out_every=HELD_OUT_EVERY)
    for name, part in (("train", train_documents), ("held_out", held_out)):
        path = OUTPUT / f"{name}.txt"
        write_documents(path, part)
        num_sentences = sum(map(len, part))
        num_bytes = path.stat().st_size
        print(f"{path}: {len(part)} documents, {num_sentences:,} sentences, {num_bytes:,} bytes")
    print(f"for example: {train_documents[0][0]}")


def make_vocabulary() -> None:
    """Train the vocabulary."""
    title("2. Vocabulary: word pieces from that text")
    run(
        [
            "-m", "bert_data.cli.train_vocab",
            f"--input_file={OUTPUT}/train.txt",
            f"--vocab_size={VOCAB_SIZE}",
            f"--output_file={OUTPUT}/vocab.txt",
        ]
    )  # fmt: skip


def make_records() -> None:
    """Make masked sentence pairs from both texts."""
    title("3. Records: pairs of sentences with masked tokens")
    for name, dupe_factor, num_examples in (("train", 15, 1), ("held_out", 4, 0)):
        run(
            [
                "create_pretraining_data.py",
                f"--input_file={OUTPUT}/{name}.txt",
                f"--output_file={OUTPUT}/{name}.tfrecord",
                f"--vocab_file={OUTPUT}/vocab.txt",
                f"--max_seq_length={MAX_SEQ_LENGTH}",
                f"--max_predictions_per_seq={MAX_PREDICTIONS}",
                f"--dupe_factor={dupe_factor}",
                f"--num_examples={num_examples}",
            ]
        )


def train(model: Model) -> None:
    """Train, and evaluate on the held-out records now and then."""
    title(f"4. Training: {model.description}")
    run(
        [
            "run_pretraining.py",
            f"--bert_config_file={os.path.relpath(model.config_file)}",
            f"--vocab_file={OUTPUT}/vocab.txt",
            f"--input_file={OUTPUT}/train.tfrecord",
            f"--eval_input_file={OUTPUT}/held_out.tfrecord",
            f"--output_dir={OUTPUT}/model",
            "--do_train",
            f"--eval_every_steps={model.num_steps // NUM_EVALUATIONS}",
            f"--max_seq_length={MAX_SEQ_LENGTH}",
            f"--max_predictions_per_seq={MAX_PREDICTIONS}",
            f"--train_batch_size={model.batch_size}",
            "--eval_batch_size=256",
            f"--learning_rate={model.learning_rate}",
            f"--num_warmup_steps={model.num_steps // 4}",
            f"--num_train_steps={model.num_steps}",
            "--log_every_steps=10",
        ],
        # A few reports are enough here; the curve below shows them all.
        leave_out=r"^step (?!\d*[02468]00/)|^saved |^evaluation |variables initialized",
    )


if __name__ == "__main__":
    main()
