"""Outputs of the commands for texts by formula, and the order in which the reader returns them.

The digests in outputs.json are our own: they say that a format, a seed or an order means what it
meant in the release that they are from.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.goldens.inputs import TEXTS, WORDS
from tests.goldens.reading import write_text, write_vocabulary

_READ = ("--input_file=small.txt,accents.txt", "--vocab_file=pieces.vocabulary.txt")
_INSTANCES = (*_READ, "--max_seq_length=48", "--max_predictions_per_seq=7", "--dupe_factor=3")
_SAMPLES = ("--input=store", "--seq_length=32", "--split=3,1", "--num_samples=300,20")
CREATE = "create_pretraining_data.py"
COMMANDS = (
    (CREATE, *_INSTANCES, "--output_file=ragged@3"),
    (CREATE, *_INSTANCES, "--output_file=words@2", "--do_whole_word_mask", "--random_seed=-9"),
    (CREATE, *_INSTANCES, "--output_file=padded", "--record_layout=reference"),
    (CREATE, *_INSTANCES, "--output_file=rows.parquet", "--output_format=parquet"),
    (CREATE, *_INSTANCES, "--output_file=order@2", "--next_sentence=sop"),
    (CREATE, *_INSTANCES, "--output_file=single@2", "--next_sentence=none"),
    (CREATE, *_INSTANCES, "--output_file=order.parquet", "--output_format=parquet",
     "--next_sentence=sop"),
    (CREATE, *_INSTANCES, "--output_file=single.parquet", "--output_format=parquet",
     "--next_sentence=none"),
    (CREATE, *_INSTANCES, "--output_file=ngrams", "--masking=ngrams", "--do_whole_word_mask"),
    (CREATE, *_INSTANCES, "--output_file=spans", "--masking=spans", "--next_sentence=none"),
    (CREATE, *_INSTANCES, "--output_file=parts@3", "--num_partitions=2", "--num_workers=1"),
    ("-m", "bert_data.cli.tokenize", *_READ, "--output_prefix=sentences", "--level=sentence"),
    ("-m", "bert_data.cli.tokenize", *_READ, "--output_prefix=store", "--level=document",
     "--append_eod", "--eod_token=[SEP]"),
    ("-m", "bert_data.cli.build_samples", *_SAMPLES, "--output_file={split}.samples@2"),
    ("-m", "bert_data.cli.build_samples", *_SAMPLES, "--output_file={split}.samples.parquet",
     "--output_format=parquet", "--reset_position_ids", "--eod_mask_loss"),
    ("-m", "bert_data.cli.label", "--input_file=labels.csv",
     "--vocab_file=pieces.vocabulary.txt", "--output_file=labelled@2"),
)  # fmt: skip
"""Each is run by Python in a folder that `write_inputs` has filled."""

_PATTERNS = {
    "ragged": "ragged-*",
    "words": "words-*",
    "padded": "padded",
    "order": "order-*",
    "single": "single-*",
}
_PLANNED = {"shuffle": True, "seed": 5, "num_epochs": 2, "batch_size": 16}
ORDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "as they are": ("ragged", {"batch_size": 16}),
    "stream": ("ragged", {**_PLANNED, "shuffle_buffer": 100}),
    "plain": ("ragged", {**_PLANNED, "batching": "plain"}),
    "plain padded": ("padded", {**_PLANNED, "batching": "plain"}),
    "pools": ("words", {**_PLANNED, "batching": "pools", "pool_batches": 4}),
    "buckets": ("ragged", {**_PLANNED, "batching": "buckets", "num_buckets": 3}),
    "packed": ("words", {**_PLANNED, "batching": "packed"}),
    "sentence order": ("order", {**_PLANNED, "batching": "pools"}),
    "single segments": ("single", {**_PLANNED, "batching": "packed"}),
}
"""Configurations of the reader, for one of the sets."""


def write_inputs(folder: Path) -> None:
    """Writes the texts, a vocabulary and labelled texts."""
    for name in ("small", "accents"):
        write_text(folder, name)
    write_vocabulary(folder, "pieces")
    sentences = TEXTS["small"]().decode().replace("\n\n", "\n").split("\n")
    rows = [f'"{sentence}",{WORDS[i % 3]}\n' for i, sentence in enumerate(sentences) if sentence]
    (folder / "labels.csv").write_text("".join(["text,label\n", *rows]))


def run_command(checkout: Path, folder: Path, command: tuple[str, ...]) -> None:
    """Runs a command of the checkout."""
    if command[0].endswith(".py"):
        command = (str(checkout / command[0]), *command[1:])
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def digest_of_file(path: Path) -> str:
    """The sha256 of a file's bytes; of Parquet files, whose encoding is pyarrow's, of the rows."""
    content = path.read_bytes()
    if path.suffix == ".parquet":
        from pyarrow import parquet

        content = json.dumps(parquet.read_table(path).to_pylist(), default=str).encode()
    return hashlib.sha256(content).hexdigest()


def digest_of_batches(folder: Path, name: str) -> list[Any]:
    """[sha256, number of batches] of the tokens and labels of one of `ORDERS`."""
    from bert_data.reader import ReaderConfig, read_batches

    which, options = ORDERS[name]
    options = dict(options)
    if "vocab_file" in options:
        options["vocab_file"] = str(folder / options["vocab_file"])
    config = ReaderConfig(input_patterns=str(folder / _PATTERNS[which]), **options)
    sha, count = hashlib.sha256(), 0
    for batch in read_batches(config).as_numpy_iterator():
        for feature in ("input_ids", "masked_lm_positions", "masked_lm_ids"):
            values = batch[feature]
            sha.update(f"{feature} {values.shape} {values.tolist()}\n".encode())
        count += 1
    return [sha.hexdigest(), count]
