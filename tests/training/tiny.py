"""A tiny BERT and random batches for it."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from bert_data.training.bert_config import BertConfig
from bert_data.training.distribution import MakeBatches
from bert_data.training.keras_model import KerasModel
from bert_data.training.model import PretrainingModel, pretraining_model
from bert_data.training.optimizer import AdamWeightDecay
from bert_data.training.state import TrainingState
from tests.forking import Program
from tests.reader.parquet_making import write_rows

VOCAB_SIZE = 11


def tiny_config(**changes: Any) -> BertConfig:
    """A BERT of two layers without dropout, with weights large enough to matter."""
    sizes = {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 12,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": 10,
        "type_vocab_size": 2,
        "initializer_range": 0.5,
    }
    return BertConfig(**{**sizes, **changes})


def model_with_random_weights(**changes: Any) -> PretrainingModel:
    """All weights random, also biases and LayerNorm's, so that each is seen in the result."""
    model = pretraining_model(tiny_config(**changes))
    random = np.random.default_rng(5)
    for variable in model.released_weights().values():
        variable.assign(random.normal(0.3, 0.5, variable.shape))
    return model


def state_of(optimizer: AdamWeightDecay | None = None, **changes: Any) -> TrainingState:
    """A tiny model of one layer with its optimizer."""
    model, optimizer = (
        pretraining_model(tiny_config(num_hidden_layers=1)),
        optimizer or AdamWeightDecay(0.1),
    )
    optimizer.build(model.trainable_variables)
    return TrainingState(model=model, optimizer=optimizer, **changes)


def check_equal_weights(
    first: KerasModel, other: KerasModel, rtol: float = 0, atol: float = 0
) -> None:
    values = other.released_values()
    for name, value in first.released_values().items():
        np.testing.assert_allclose(value, values[name], rtol=rtol, atol=atol, err_msg=name)


def random_batch(
    *, num_examples: int = 4, width: int = 9, num_predictions: int = 3, seed: int = 0
) -> dict[str, np.ndarray]:
    """Random ids, lengths and predictions, padded with zeros."""
    random = np.random.default_rng(seed)
    lengths = random.integers(4, width + 1, num_examples)[:, None]
    counts = random.integers(1, num_predictions + 1, num_examples)[:, None]
    mask = np.arange(width) < lengths
    weights = np.arange(num_predictions) < counts
    order = np.argsort(random.random(mask.shape) + 2 * ~mask)  # a permutation, padding last
    positions = order[:, :num_predictions]
    batch = {
        "input_ids": random.integers(0, VOCAB_SIZE, mask.shape) * mask,
        "input_mask": mask,
        "segment_ids": (np.arange(width) >= lengths // 2) * mask,
        "masked_lm_positions": positions * weights,
        "masked_lm_ids": random.integers(0, VOCAB_SIZE, weights.shape) * weights,
        "next_sentence_labels": random.integers(0, 2, (num_examples, 1)),
    }
    return {
        **{name: value.astype(np.int32) for name, value in batch.items()},
        "masked_lm_weights": weights.astype(np.float32),
    }


def pack(
    batch: dict[str, np.ndarray], rows: list[list[int]], *, width: int | None = None
) -> dict[str, np.ndarray]:
    """The examples of `random_batch`, those of each of `rows` side by side in one row."""
    lengths, counts = (batch[n].sum(1).astype(int) for n in ("input_mask", "masked_lm_weights"))
    most = max(len(row) for row in rows)
    width = width or max(int(lengths[row].sum()) for row in rows)
    predictions = max(int(counts[row].sum()) for row in rows)
    tokens = ("input_ids", "input_mask", "segment_ids", "position_ids", "instance_ids")
    masked = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")
    places = ("next_sentence_positions", "next_sentence_labels", "next_sentence_weights")
    packed = {
        name: np.zeros((len(rows), size), np.float32 if name.endswith("weights") else np.int32)
        for names, size in ((tokens, width), (masked, predictions), (places, most))
        for name in names
    }
    for row, examples in enumerate(rows):
        at = first = 0
        for place, example in enumerate(examples):
            here, chosen = slice(at, at + lengths[example]), slice(first, first + counts[example])
            for name in tokens[:3]:
                packed[name][row, here] = batch[name][example, : lengths[example]]
            for name in masked:
                packed[name][row, chosen] = batch[name][example, : counts[example]]
            packed["masked_lm_positions"][row, chosen] += at
            packed["position_ids"][row, here] = np.arange(lengths[example])
            packed["instance_ids"][row, here] = place + 1
            packed["next_sentence_positions"][row, place] = at
            packed["next_sentence_labels"][row, place] = batch["next_sentence_labels"][example, 0]
            packed["next_sentence_weights"][row, place] = 1.0
            at, first = here.stop, chosen.stop
    return packed


def batches_of(
    examples: dict[str, np.ndarray], batch_size: int, *, repeat: bool = True
) -> MakeBatches:
    """Batches of the examples in their order, divided among replicas."""

    def make(start_batch: int, context: tf.distribute.InputContext) -> tf.data.Dataset:
        rows = tf.data.Dataset.from_tensor_slices(examples)
        rows = (rows.repeat() if repeat else rows).skip(start_batch * batch_size)
        rows = rows.shard(context.num_input_pipelines, context.input_pipeline_id)
        return rows.batch(context.get_per_replica_batch_size(batch_size))

    return make


def write_records(path: str, examples: dict[str, np.ndarray]) -> None:
    """Writes the examples as Google's program does: padded, one Example a record."""
    with tf.io.TFRecordWriter(path) as writer:
        for row in range(len(examples["input_ids"])):
            feature = {}
            for name, values in examples.items():
                if name == "masked_lm_weights":
                    floats = tf.train.FloatList(value=values[row])
                    feature[name] = tf.train.Feature(float_list=floats)
                else:
                    ints = tf.train.Int64List(value=values[row])
                    feature[name] = tf.train.Feature(int64_list=ints)
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString(deterministic=True))


def write_both(folder: Path, examples: dict[str, np.ndarray]) -> None:
    """Writes the examples to r.tfrecord and r.parquet, whose masked positions are sorted.

    Those of `examples` are changed, so that both files hold the same.
    """
    rows = []
    for row in range(len(examples["input_ids"])):
        num_tokens = int(examples["input_mask"][row].sum())
        num_masked = int(examples["masked_lm_weights"][row].sum())
        examples["masked_lm_positions"][row, :num_masked] = range(num_masked)
        rows.append(
            {
                "tokens": examples["input_ids"][row, :num_tokens].tolist(),
                "segment_ids": examples["segment_ids"][row, :num_tokens].tolist(),
                "is_random_next": bool(examples["next_sentence_labels"][row, 0]),
                "masked_positions": examples["masked_lm_positions"][row, :num_masked].tolist(),
                "masked_labels": examples["masked_lm_ids"][row, :num_masked].tolist(),
            }
        )
    write_rows(folder / "r.parquet", rows, group_rows=len(rows))
    write_records(str(folder / "r.tfrecord"), examples)


def signal_at(process: Program, text: str, number: int, other: Program | None = None) -> None:
    """Sends a signal to a process, or to another one, once its log has a text."""
    for line in process.stderr:
        if text in line:
            (other or process).send_signal(number)
            return
