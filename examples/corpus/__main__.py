"""Make a corpus of seven small sources: from raw files to BERT records and GPT samples.

    .venv/bin/python -m examples.corpus                       two minutes on two cores
    .venv/bin/python -m examples.corpus --engine=ray          the same on a Ray cluster

Everything is written to corpus_output/; a second run starts again. It needs the extra `curation`.
`pipeline.yaml` says what becomes of the sources, and report.html what each step removed of each.
"""

import functools
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.corpus.samples import PLANTED, write_samples
from examples.demo import commands

OUTPUT = Path("corpus_output")
PIPELINE = "examples/corpus/pipeline.yaml"
CORPUS = f"{OUTPUT}/corpus.jsonl.zst@2"
VOCABULARY = f"{OUTPUT}/vocab.txt"
VOCAB_SIZE = 4000
SEQ_LENGTH = 128

run = functools.partial(commands.run, example="corpus")


def main() -> None:
    """Run all steps."""
    engine = parse_engine(sys.argv[1:])
    if not Path(PIPELINE).exists():
        sys.exit("corpus: run it from the project's top folder")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    _title("1. Samples of the sources, and what should not stay of them")
    write_samples(OUTPUT / "sources")
    print("\n".join(f"{number:>5} {what}" for what, number in PLANTED.items()))
    _title("2. A classifier: good texts, and forums")
    train_classifier()
    _title("3. Curation, by one file")
    curate(engine)
    _title("4. A vocabulary of the mixture")
    train_vocabulary(engine)
    _title("5. Token stores: documents for GPT, sentences for BERT")
    tokenize(engine)
    _title("6. GPT samples")
    make_samples(engine)
    _title("7. BERT records")
    make_records(engine)
    print(f"\n{OUTPUT}/report.html says what each step removed of each source")


def parse_engine(arguments: Sequence[str]) -> list[str]:
    """Return the flags for the commands that work in tasks."""
    parser = commands.ExampleParser("corpus", __doc__)
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        help="what runs the commands' tasks: processes of this machine, or a Ray cluster",
    )
    parser.add_argument(
        "--ray_address", help="with --engine=ray: HOST:PORT of the cluster's head, auto or local"
    )
    given = vars(parser.parse_args(arguments))
    return [f"--{name}={value}" for name, value in given.items() if value is not None]


def train_classifier() -> None:
    """Train the model of the step `classifier`."""
    run(
        [
            "-m", "bert_data.cli.train_classifier",
            f"--positive_file={OUTPUT}/sources/reference.txt",
            f"--negative_file={OUTPUT}/sources/chatter.txt",
            f"--output_file={OUTPUT}/quality.bin",
            "--epochs=25",
            "--learning_rate=0.5",
            "--dimension=16",
            "--buckets=100000",
        ]
    )  # fmt: skip


def curate(engine: list[str]) -> None:
    """Make the corpus and the report."""
    run(
        [
            "-m", "bert_data.cli.curate",
            f"--pipeline={PIPELINE}",
            f"--report={OUTPUT}/report.html",
            f"--rejected_file={OUTPUT}/rejected.jsonl",
            *engine,
        ]
    )  # fmt: skip


def train_vocabulary(engine: list[str]) -> None:
    """Train the vocabulary."""
    run(
        [
            "-m", "bert_data.cli.train_vocab",
            f"--input_file={CORPUS}",
            f"--vocab_size={VOCAB_SIZE}",
            f"--output_file={VOCABULARY}",
            *engine,
        ]
    )  # fmt: skip


def tokenize(engine: list[str]) -> None:
    """Write the stores `documents` and `sentences`."""
    for level, more in (("document", ["--append_eod", "--eod_token=[SEP]"]), ("sentence", [])):
        run(
            [
                "-m", "bert_data.cli.tokenize",
                f"--input_file={CORPUS}",
                f"--vocab_file={VOCABULARY}",
                f"--level={level}",
                *more,
                f"--output_prefix={OUTPUT}/{level}s",
                *engine,
            ]
        )  # fmt: skip


def make_samples(engine: list[str]) -> None:
    """Cut the documents into samples."""
    run(
        [
            "-m", "bert_data.cli.build_samples",
            f"--input={OUTPUT}/documents",
            f"--seq_length={SEQ_LENGTH}",
            f"--output_file={OUTPUT}/samples.tfrecord@2",
            *engine,
        ]
    )  # fmt: skip


def make_records(engine: list[str]) -> None:
    """Make masked pairs of the sentences."""
    run(
        [
            "create_pretraining_data.py",
            f"--input_file={OUTPUT}/sentences",
            "--input_format=store",
            f"--vocab_file={VOCABULARY}",
            f"--output_file={OUTPUT}/records.tfrecord@2",
            f"--max_seq_length={SEQ_LENGTH}",
            "--max_predictions_per_seq=20",
            "--dupe_factor=2",
            "--num_examples=0",
            *engine,
        ]
    )


def _title(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    main()
