"""Sets of records that are right, made by formula, to plant faults in."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bert_data.kernels.crc32c import crc32c, masked_crc32c
from bert_data.records.formats.examples import encode_example
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.tfrecord import INDEX_DTYPE, index_path
from bert_data.records.sets.manifest import Manifest
from bert_data.storage import read_bytes
from bert_data.tokens.vocabulary import load_vocabulary

PAD, UNK, CLS, SEP, MASK = range(5)
FIRST_WORD, FIRST_PIECE, VOCAB_SIZE = 5, 60, 80
MAX_LENGTH, MAX_PREDICTIONS, PROB = 40, 6, 0.15

Record = dict[str, Any]


def write_vocabulary(folder: Path) -> Path:
    """The vocabulary of all records here: words, then pieces that continue one."""
    path = folder / "vocab.txt"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += [f"w{i}" for i in range(FIRST_WORD, FIRST_PIECE)]
    tokens += [f"##p{i}" for i in range(FIRST_PIECE, VOCAB_SIZE)]
    path.write_text("\n".join(tokens) + "\n")
    return path


def num_to_predict(length: int, num_specials: int) -> int:
    num_allowed = min(MAX_PREDICTIONS, max(1, round(length * PROB)))
    return min(num_allowed, length - num_specials)


def word_splits(text: Sequence[int], b_begin: int) -> list[int]:
    """The starts of words, and the end; ids outside the vocabulary are words of their own."""
    is_outside = [not 0 <= token < VOCAB_SIZE for token in text]
    begins = [
        i <= 1 or i == b_begin or text[i] < FIRST_PIECE or any(is_outside[i - 1 : i + 1])
        for i in range(len(text))
    ]
    return [i for i, begin in enumerate(begins) if begin] + [len(text)]


def make_record(draw: random.Random, *, is_pair: bool = True) -> Record:
    """A record that BERT's rules allow, in the ragged layout."""

    def words(count: int) -> list[int]:
        return [draw.randrange(FIRST_WORD, VOCAB_SIZE) for _ in range(count)]

    a = [CLS, *words(draw.randint(6, 20)), SEP]
    b = [*words(draw.randint(5, MAX_LENGTH - 1 - len(a))), SEP] if is_pair else []
    text = a + b
    candidates = [i for i, token in enumerate(text) if token not in (CLS, SEP)]
    positions = sorted(draw.sample(candidates, num_to_predict(len(text), 2 + is_pair)))
    ids = list(text)
    for position in positions:
        if draw.random() < 0.8:
            ids[position] = MASK
        elif draw.random() < 0.5:
            ids[position] = draw.randrange(VOCAB_SIZE)
    record = {
        "input_ids": ids,
        "input_mask": [1] * len(ids),
        "segment_ids": [0] * len(a) + [1] * len(b),
        "masked_lm_positions": positions,
        "masked_lm_ids": [text[position] for position in positions],
        "masked_lm_weights": [1.0] * len(positions),
        "input_ids_splits_0": word_splits(text, len(a)),
    }
    if is_pair:
        record["next_sentence_labels"] = [int(draw.random() < 0.52)]
    return record


def make_records(count: int, seed: int, *, is_pair: bool = True) -> list[Record]:
    draw = random.Random(seed)
    return [make_record(draw, is_pair=is_pair) for _ in range(count)]


def pad(record: Record) -> Record:
    """The same record in the reference layout."""
    lengths = {"input_ids": MAX_LENGTH, "input_mask": MAX_LENGTH, "segment_ids": MAX_LENGTH}
    padded = {}
    for name, values in record.items():
        length = MAX_PREDICTIONS if name.startswith("masked") else lengths.get(name, len(values))
        padded[name] = [*values, *[type(values[0])(0)] * (length - len(values))]
    del padded["input_ids_splits_0"]
    return padded


def encode(record: Record) -> bytes:
    features = {
        name: np.array(values, np.float32 if name == "masked_lm_weights" else np.int64)
        for name, values in record.items()
    }
    return encode_example(features)


def frame(example: bytes) -> bytes:
    length = len(example).to_bytes(8, "little")
    sums = (masked_crc32c(part).to_bytes(4, "little") for part in (length, example))
    return length + next(sums) + example + next(sums)


def write_shard(path: Path, records: Sequence[Record], *, with_index: bool = True) -> Path:
    frames = [frame(encode(record)) for record in records]
    path.write_bytes(b"".join(frames))
    if with_index:
        index = np.zeros(len(records) + 1, INDEX_DTYPE)
        index["offset"] = np.cumsum([0, *map(len, frames)])
        is_ragged = bool(records) and "input_ids_splits_0" in records[0]
        masks = [record["input_mask"] for record in records]
        index["num_tokens"][:-1] = [len(mask) if is_ragged else sum(mask) for mask in masks]
        np.save(index_path(str(path)), index)
    return path


def write_manifest(paths: Sequence[Path], **changes: Any) -> Path:
    """A manifest of the shards as they are."""
    folder = paths[0].parent
    vocabulary = load_vocabulary(str(write_vocabulary(folder)))
    counts = [len(np.load(index_path(str(path)))) - 1 for path in paths]
    files = [
        ManifestFile(
            name=path.name,
            num_records=count,
            num_bytes=path.stat().st_size,
            crc32c=crc32c(read_bytes(path)),
        )
        for path, count in zip(paths, counts, strict=True)
    ]
    settings: dict[str, Any] = {
        "record_layout": "ragged",
        "compression": "none",
        "max_seq_length": MAX_LENGTH,
        "max_predictions_per_seq": MAX_PREDICTIONS,
        "random_seed": 1,
        "vocabulary": vocabulary.note,
        "flags": {"masked_lm_prob": PROB, "do_whole_word_mask": False, "dupe_factor": 2},
        "counts": {
            "text": {"num_documents": 40, "num_unknown": 0, "num_tokens": 9000},
            "instances": {"num_instances": sum(counts)},
        },
        "files": tuple(files),
    }
    for name, value in changes.items():
        settings[name] = {**settings[name], **value} if isinstance(value, dict) else value
    path = folder / "manifest.train.json"
    path.write_text(Manifest(**settings).to_json())
    return path


def write_set(
    folder: Path,
    records: Sequence[Record],
    *,
    num_shards: int = 2,
    change: Callable[[int, Record], None] | None = None,
    layout: str = "ragged",
    **manifest: Any,
) -> str:
    """Write a set; `change` plants faults in records. Returns its pattern."""
    for number, record in enumerate(records):
        if change is not None:
            change(number, record)
    written = [pad(record) if layout == "reference" else record for record in records]
    paths = []
    for shard in range(num_shards):
        path = folder / f"train-{shard:05d}-of-{num_shards:05d}"
        paths.append(write_shard(path, written[shard::num_shards]))
    write_manifest(paths, record_layout=layout, **manifest)
    return str(folder / "train-*")
