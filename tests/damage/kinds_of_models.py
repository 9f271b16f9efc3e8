"""Configurations, checkpoints, and records of labelled texts: reading them needs TensorFlow.

It is imported here, once, before any process is forked; its runtime starts in forked ones only.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from bert_data.labelled.batches import LabelledReaderConfig, LabelledSource
from bert_data.labelled.label_config import LabelledDatasetConfig
from bert_data.labelled.records import create_labelled_dataset
from bert_data.reader.planning import PlanConfig
from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import Checkpoint, save_checkpoint
from tests.damage.lab import Kind
from tests.damage.materials import stories, write_vocabulary

_CONFIG = {
    "vocab_size": 100, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 32, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1, "max_position_embeddings": 64, "type_vocab_size": 2,
    "initializer_range": 0.02,
}  # fmt: skip
_SIZES = "it holds a model's sizes, and nothing else says them"


def _make_config(folder: Path, variant: int) -> None:
    text = json.dumps({**_CONFIG, "hidden_size": 16 * (variant + 1)}, indent=1)
    (folder / "bert_config.json").write_text(text)


def _read_config(folder: Path) -> Any:
    return BertConfig.from_json_file(f"{folder}/bert_config.json").to_json()


def _make_checkpoint(folder: Path, variant: int) -> None:
    random = np.random.default_rng(variant)
    tensors = {f"layer_{i}/kernel": random.normal(size=(8, 8)).astype("f4") for i in range(4)}
    values = {**tensors, "global_step": np.int64(7)}
    save_checkpoint(str(folder), 7, values, num_kept=1)


def _read_checkpoint(folder: Path) -> Any:
    checkpoint = Checkpoint(str(folder))
    return {name: checkpoint.read(name) for name in checkpoint.names}


def _make_labelled(folder: Path, variant: int) -> None:
    rows = [{"text": s, "label": i % 3} for i, story in enumerate(stories(variant)) for s in story]
    text = folder.parent / f"labelled-{variant}.jsonl"
    text.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    create_labelled_dataset(
        LabelledDatasetConfig(
            input_file=str(text),
            output_file=f"{folder}/a,{folder}/b",
            vocab_file=write_vocabulary(folder.parent / "vocab.txt"),
            num_workers=1,
        )
    )


def _read_labelled(folder: Path) -> Any:
    source = LabelledSource(
        LabelledReaderConfig(input_patterns=f"{folder}/[ab]", plan=PlanConfig(batch_size=8))
    )
    num_records = source.records.num_tokens.size
    return [source.num_labels, source.form, source.records.read(range(num_records))]


KINDS = (
    Kind(
        name="labelled texts",
        make=_make_labelled,
        damaged=["a", "*.npy", "manifest.*"],
        read=_read_labelled,
        unprotected={"manifest.*": "its own numbers have no checksum"},
    ),
    Kind(
        name="bert_config.json",
        make=_make_config,
        damaged=["*"],
        read=_read_config,
        unprotected={"*": _SIZES},
    ),
    Kind(name="checkpoint", make=_make_checkpoint, damaged=["*"], read=_read_checkpoint),
)
