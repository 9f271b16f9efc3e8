"""What training reads besides records: configurations and checkpoints. It loads TensorFlow."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.damage.lab import Kind

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


def _read_config(folder: Path, way: int) -> Any:
    del way
    from bert_data.training.config import BertConfig

    return BertConfig.from_json_file(f"{folder}/bert_config.json").to_json()


def _make_checkpoint(folder: Path, variant: int) -> None:
    from bert_data.training.checkpoints import save_checkpoint

    random = np.random.default_rng(variant)
    tensors = {f"layer_{i}/kernel": random.normal(size=(8, 8)).astype("f4") for i in range(4)}
    values = {**tensors, "global_step": np.int64(7)}
    save_checkpoint(str(folder), 7, values, num_kept=1)


def _read_checkpoint(folder: Path, way: int) -> Any:
    del way
    from bert_data.training.checkpoints import Checkpoint

    checkpoint = Checkpoint(str(folder))
    return {name: checkpoint.read(name) for name in checkpoint.shapes}


KINDS = (
    Kind(
        name="bert_config.json",
        make=_make_config,
        damaged=["*"],
        read=_read_config,
        unprotected={"*": _SIZES},
    ),
    Kind(name="checkpoint", make=_make_checkpoint, damaged=["*"], read=_read_checkpoint),
)
