"""CPU of training a WordPiece vocabulary, compared with the trainer of `tokenizers` alone.

    python benchmarks/training_vocabularies.py > benchmarks/results/training_vocabularies.md

Whole processes are timed from outside, in turn: our command, and a script that only calls
train_from_iterator on the lines of the same file. Medians of user and system seconds.
"""

import argparse
import importlib.metadata
import statistics
import sys
import tempfile
from pathlib import Path

from machine import describe_machine
from token_stores import run

_TEXT = Path(__file__).resolve().parents[2] / "shared/data/corpora/movie_reviews.txt"
_PEER = """
import os, sys
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
trainer = trainers.WordPieceTrainer(
    vocab_size=int(sys.argv[2]), special_tokens=["[UNK]"], show_progress=False
)
with open(sys.argv[1], encoding="utf-8") as file:
    tokenizer.train_from_iterator(file, trainer)
tokenizer.save(sys.argv[3])
"""


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--text", type=Path, default=_TEXT)
    parser.add_argument("--vocab_size", type=int, default=8000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    size = str(arguments.vocab_size)
    with tempfile.TemporaryDirectory() as folder:
        ours = [
            sys.executable, "-m", "bert_data.cli.train_vocab", f"--input_file={arguments.text}",
            f"--vocab_size={size}", f"--output_file={folder}/vocab.txt", "--overwrite",
        ]  # fmt: skip
        peer = [sys.executable, "-c", _PEER, str(arguments.text), size, f"{folder}/peer.json"]
        seconds: dict[str, list[float]] = {"bert-data train-vocab": [], "`tokenizers` alone": []}
        for _ in range(arguments.runs):
            for name, command in zip(seconds, (ours, peer), strict=True):
                seconds[name].append(run(command)[0])
    print("# Training a WordPiece vocabulary\n")
    version = importlib.metadata.version("tokenizers")
    print(f"{describe_machine()}; tokenizers {version}.\n")
    print(f"{arguments.text.name}, {arguments.text.stat().st_size / 1e6:.1f} MB; {size} tokens.\n")
    print("| program | CPU s | times ours |")
    print("|---|--:|--:|")
    base = statistics.median(seconds["bert-data train-vocab"])
    for name, values in seconds.items():
        print(
            f"| {name} | {statistics.median(values):.2f} | {statistics.median(values) / base:.2f} |"
        )


if __name__ == "__main__":
    main()
