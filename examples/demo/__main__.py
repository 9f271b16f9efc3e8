"""Train a small BERT that guesses masked words, on the English text that comes with Python.

    .venv/bin/python -m examples.demo          (make demo does the same, and sets up .venv before)
    .venv/bin/python -m examples.demo 1500     steps of training instead of 2,000

Everything is written to demo_output/; a second run starts again. The printed commands can be
pasted, and work on your own text too.
"""

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
NUM_STEPS = 2000
NUM_CHECKPOINTS = 10

run = functools.partial(commands.run, example="demo")

# Small enough for two cores, and for a few minutes. No dropout: there is more text than time.
BERT_CONFIG = Path(__file__).parent / "bert_config.json"
VOCAB_SIZE = 3000


def main() -> None:
    """Runs all steps."""
    num_steps = parse_steps(sys.argv[1:])
    if not Path("run_pretraining.py").exists():
        sys.exit("demo: run it from the project's top folder")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    write_text()
    make_vocabulary()
    make_records()
    train(num_steps)
    title("5. What it has learned")
    results = load_results(OUTPUT)
    show_curve(results)
    learned = show_losses(results)
    show_guesses(results)
    if not learned:
        sys.exit(1)


def parse_steps(arguments: Sequence[str]) -> int:
    """Return the number of training steps."""
    parser = commands.ExampleParser("demo", __doc__)
    parser.add_argument(
        "steps", type=int, nargs="?", default=NUM_STEPS, help=f"of training (default {NUM_STEPS:,})"
    )
    steps: int = parser.parse_args(arguments).steps
    if steps < NUM_CHECKPOINTS:
        parser.error(f"{steps:,} steps; at least {NUM_CHECKPOINTS} are needed")
    return steps


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


def train(num_steps: int) -> None:
    """Train, and evaluate the last checkpoint on the held-out records."""
    title("4. Training: a BERT of two layers, two to four minutes on two cores")
    run(
        [
            "run_pretraining.py",
            f"--bert_config_file={os.path.relpath(BERT_CONFIG)}",
            f"--vocab_file={OUTPUT}/vocab.txt",
            f"--input_file={OUTPUT}/train.tfrecord",
            f"--eval_input_file={OUTPUT}/held_out.tfrecord",
            f"--output_dir={OUTPUT}/model",
            "--do_train",
            "--do_eval",
            f"--max_seq_length={MAX_SEQ_LENGTH}",
            f"--max_predictions_per_seq={MAX_PREDICTIONS}",
            "--train_batch_size=64",
            "--eval_batch_size=256",
            "--learning_rate=1.5e-3",
            f"--num_warmup_steps={num_steps // 4}",
            f"--num_train_steps={num_steps}",
            f"--save_checkpoints_steps={num_steps // NUM_CHECKPOINTS}",
            f"--keep_checkpoints={NUM_CHECKPOINTS}",
            "--log_every_steps=10",
        ],
        # A few reports are enough here; the curve below shows them all.
        leave_out=r"^step (?!\d*[02468]00/)|^saved |variables initialized",
    )


if __name__ == "__main__":
    main()
