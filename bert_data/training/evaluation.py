"""Google's metrics of a trained model on data, and its guesses for masks."""

import os
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from bert_data.reader import explain
from bert_data.records import fields
from bert_data.records.choices import DEFAULT
from bert_data.storage import is_folder
from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import folder_config
from bert_data.training.keras_model import FeatureTensors
from bert_data.training.losses import cross_entropy, example_weights
from bert_data.training.model import MASKED_LM, PretrainingModel, pretraining_model
from bert_data.training.model_vocabulary import ModelVocabulary, check_vocabulary
from bert_data.training.state import load_weights
from bert_data.training.steps import segment_answers


class Evaluator:
    """Computes the metrics of a model, again and again without compiling anew."""

    def __init__(self, model: PretrainingModel) -> None:
        self._task = model.objective.task
        self._sums_of = tf.function(
            lambda batch: batch_sums(model, batch), reduce_retracing=True, autograph=False
        )

    def evaluate(self, batches: Iterable[FeatureTensors]) -> dict[str, float]:
        """Return the metrics; see the function `evaluate`."""
        rows = []
        try:
            for batch in batches:
                rows.append(self._sums_of(batch).numpy())
        except tf.errors.OpError as error:
            raise explain(error) from None
        if not rows:
            raise ValueError("there is not one batch of data to evaluate on")
        return metrics(np.array(rows, np.float64), self._task)


def evaluate(model: PretrainingModel, batches: Iterable[FeatureTensors]) -> dict[str, float]:
    """Return means over all predictions and examples, without dropout.

    Args:
      model: on one device or several; the evaluation runs on one.
      batches: dicts of Google's feature names; they end.

    Returns:
      masked_lm_accuracy, masked_lm_loss; the same two of next_sentence or sentence_order, if the
      model judges segments; and loss, the sum of these losses. They do not depend on how the
      examples are batched.

    Raises:
      ValueError: there is no batch, or the reader refuses one.
    """
    return Evaluator(model).evaluate(batches)


def batch_sums(model: PretrainingModel, batch: FeatureTensors) -> tf.Tensor:
    """Return float32[6]: predictions, their losses and hits; pairs, their losses and hits.

    What has weight 0, as the empty places of rows, is not counted.
    """
    logits = model(batch)
    weights = batch[fields.MASKED_LM_WEIGHTS.name]
    words = batch[fields.MASKED_LM_IDS.name]
    sums = _answer_sums(logits[MASKED_LM], words, weights)
    if answers := segment_answers(model, logits, batch):
        scores, labels, examples = answers
        labels = tf.reshape(labels, [-1])
        sums += _answer_sums(tf.reshape(scores, [-1, 2]), labels, example_weights(labels, examples))
    else:
        sums += [tf.constant(0.0)] * len(sums)
    return tf.stack(sums)


def _answer_sums(scores: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor) -> list[tf.Tensor]:
    is_right = tf.argmax(scores, -1, tf.int32) == labels
    losses, hits = cross_entropy(scores, labels), tf.cast(is_right, tf.float32)
    return [tf.reduce_sum(weights * values) for values in (1.0, losses, hits)]


def metrics(rows: np.ndarray, task: str | None) -> dict[str, float]:
    """Return the metrics from float64[batches, 6] as `batch_sums` gives them."""
    results = {"loss": 0.0}
    for name, sums in zip((MASKED_LM, task), np.split(rows.sum(0), 2), strict=True):
        if name is not None:
            count, losses, hits = sums
            results[f"{name}_accuracy"] = float(hits / max(count, 1.0))
            results[f"{name}_loss"] = float(losses / max(count, 1.0))
            results["loss"] += results[f"{name}_loss"]
    return results


def load_pretrained(
    path: str,
    config: BertConfig | None = None,
    *,
    next_sentence: str = DEFAULT,
    vocab_file: str | None = None,
    allow_other_vocabulary: bool = False,
) -> PretrainingModel:
    """Make the model of a checkpoint.

    Args:
      path: the folder of a training run, for its last checkpoint, the prefix of a checkpoint, or a
        folder of Hugging Face.
      config: by default, the bert_config.json or config.json beside the checkpoint.
      next_sentence: what the model is to judge, see `pretraining_model`.
      vocab_file: of the texts' ids, which is compared with that of the model's training.
      allow_other_vocabulary: whether it may be another one.

    Raises:
      ValueError: there is no checkpoint or no configuration, or one does not fit the other.
    """
    folder = path if is_folder(path) else os.path.dirname(path)
    config = config or folder_config(folder)
    if config is None:
        raise ValueError(f"there is no bert_config.json in {folder!r}")
    if vocab_file is not None:
        check_vocabulary(
            ModelVocabulary.read(vocab_file),
            path,
            vocab_size=config.vocab_size,
            allow_other=allow_other_vocabulary,
        )
    model = pretraining_model(config, next_sentence=next_sentence)
    load_weights(model, path)
    return model


def best_guesses(
    model: PretrainingModel,
    texts: Sequence[Sequence[int]],
    *,
    mask_id: int,
    k: int = 5,
    segment_ids: Sequence[Sequence[int]] | None = None,
) -> list[list[list[tuple[int, float]]]]:
    """Return the likeliest words for each mask.

    Args:
      model: a trained one.
      texts: token ids of each text, [CLS] and [SEP] included, without padding.
      mask_id: the id of [MASK].
      k: how many guesses, 1 to vocab_size.
      segment_ids: of each token, 0 or 1; by default, 0.

    Returns:
      For each text, for each of its masks from left to right, pairs (id, probability), the
      likeliest first.

    Raises:
      ValueError: a text is longer than the model can read, or has an id it does not know.
    """
    batch, counts = _padded(model.config, texts, segment_ids, mask_id)
    if not batch[fields.MASKED_LM_POSITIONS.name].size:
        return [[] for _ in texts]
    logits = model({name: tf.constant(value) for name, value in batch.items()})[MASKED_LM]
    probabilities, ids = (x.numpy() for x in tf.math.top_k(tf.nn.softmax(logits), k))
    return [
        [
            [
                (int(i), float(p))
                for i, p in zip(ids[row, mask], probabilities[row, mask], strict=True)
            ]
            for mask in range(count)
        ]
        for row, count in enumerate(counts)
    ]


def _padded(
    config: BertConfig,
    texts: Sequence[Sequence[int]],
    segment_ids: Sequence[Sequence[int]] | None,
    mask_id: int,
) -> tuple[dict[str, np.ndarray], list[int]]:
    """Return the features of the texts, and the number of masks of each."""
    width = max((len(text) for text in texts), default=0)
    if width > config.max_position_embeddings:
        raise ValueError(
            f"a text has {width} tokens; the model reads up to {config.max_position_embeddings}"
        )
    masks = [[place for place, token in enumerate(text) if token == mask_id] for text in texts]
    counts = [len(places) for places in masks]
    batch = {
        fields.INPUT_IDS.name: _table(texts, width),
        fields.INPUT_MASK.name: _table([[1] * len(text) for text in texts], width),
        fields.SEGMENT_IDS.name: _table(segment_ids or [[0] * len(text) for text in texts], width),
        fields.MASKED_LM_POSITIONS.name: _table(masks, max(counts, default=0)),
    }
    ids = batch[fields.INPUT_IDS.name]
    if ids.size and not 0 <= ids.min() <= ids.max() < config.vocab_size:
        raise ValueError(f"a text has an id that is not below vocab_size, {config.vocab_size}")
    return batch, counts


def _table(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    table = np.zeros((len(rows), width), np.int32)
    for row, values in enumerate(rows):
        table[row, : len(values)] = values
    return table
