"""A tiny model and its files, from which the tests export."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import tensorflow as tf

from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import save_checkpoint
from bert_data.training.model import pretraining_model
from tests.training.tiny import tiny_config

TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "##ly", "film", ".", "σ")


@functools.cache
def tiny_weights() -> Mapping[str, np.ndarray]:
    """Random weights under their released names."""
    random = np.random.default_rng(3)
    weights = pretraining_model(tiny_config()).released_weights()
    drawn = {name: random.normal(0, 0.5, v.shape).astype(np.float32) for name, v in weights.items()}
    return MappingProxyType(drawn)


def inputs_of(batch: dict[str, np.ndarray], *more: str) -> dict[str, tf.Tensor]:
    """A batch under the names that TF Hub's encoders take."""
    names = {
        "input_word_ids": "input_ids",
        "input_mask": "input_mask",
        "input_type_ids": "segment_ids",
        **{name: name for name in more},
    }
    return {name: tf.constant(batch[ours]) for name, ours in names.items()}


@dataclasses.dataclass(frozen=True)
class Model:
    """Files of a model: what `export_hub` reads."""

    vocab_file: str
    config_file: str
    checkpoint: str
    config: BertConfig


def write_model(folder: Path, **changes: object) -> Model:
    """Writes a vocabulary of 11 tokens, a configuration and a checkpoint that fit each other."""
    config = tiny_config(hidden_dropout_prob=0.1, **changes)
    (folder / "vocab.txt").write_text("".join(f"{t}\n" for t in TOKENS), encoding="utf-8")
    (folder / "bert_config.json").write_text(config.to_json(), encoding="utf-8")
    prefix = save_checkpoint(str(folder), 5, dict(tiny_weights()), num_kept=1)
    return Model(str(folder / "vocab.txt"), str(folder / "bert_config.json"), prefix, config)
