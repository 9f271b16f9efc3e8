"""Load a trained model, and ask it which words masks hide.

model = load_pretrained("output_dir")
best_guesses(model, [[2, 7592, 103, 3]], mask_id=103, k=5)
    -> [[[(2088, 0.31), (1010, 0.12), ...]]]          one text, one mask, five guesses
"""

import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from bert_data.objectives.next_sentence import DEFAULT
from bert_data.schema import fields
from bert_data.storage import is_folder
from bert_data.training.config import BertConfig
from bert_data.training.init_checkpoint import load_weights
from bert_data.training.model import MASKED_LM, PretrainingModel, pretraining_model
from bert_data.training.model_vocabulary import ModelVocabulary, check_vocabulary
from bert_data.training.output_folder import folder_config


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
