"""The weights of a model whose vocabulary has become longer.

word_embeddings [30522, 768], {30522: [4003, 20282, 6483]}  ->  [30523, 768], whose last row is
                                                                the mean of these three
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_data.hub.pretrained import fitting_config
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.training import BertConfig, pretraining_model
from bert_data.training.checkpoints import Checkpoint, save_checkpoint
from bert_data.training.init_checkpoint import Weights, assign_weights, open_weights
from bert_data.training.model import named_weights
from bert_data.training.output_folder import write_config

_OF_TOKENS = ("bert/embeddings/word_embeddings", "cls/predictions/output_bias")
_STEP, _ENCODER = "global_step", ("bert/embeddings/", "bert/encoder/")
_TEXTS_AT_A_TIME = 4
_NUM_PREDICTIONS = 8  # in each text
_LARGEST_DIFFERENCE = 1e-4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """How the outputs for texts of old tokens differ.

    Attributes:
      num_texts: that were compared.
      difference: the largest one in hidden states, pooled output and the scores of old tokens.
    """

    num_texts: int
    difference: float

    def __str__(self) -> str:
        return (
            f"{self.num_texts} texts of old tokens have the same ids, and their outputs differ by"
            f" at most {self.difference:.1e}"
        )


def extend_weights(
    init_checkpoint: str,
    bert_config_file: str | None,
    folder: str,
    *,
    old: Vocabulary,
    new_size: int,
    pieces: Mapping[int, Sequence[int]],
    texts: Sequence[Sequence[int]],
    allow_other_vocabulary: bool = False,
) -> tuple[str, Comparison]:
    """Write a checkpoint and bert_config.json of the larger model, and compare the two models.

    Args:
      init_checkpoint: path of the weights, see `open_weights`.
      bert_config_file: the model's sizes; None: the file beside the weights.
      old: the vocabulary of the model as it is.
      pieces: for the id of each new token, the ids that it had been split into.
      texts: token ids without new tokens, to compare the models with.
      allow_other_vocabulary: see `fitting_config`.

    Returns:
      The prefix of the weights that were read, and the comparison.

    Raises:
      ValueError: the vocabulary does not fit the model, or the outputs differ.
    """
    checkpoint = open_weights(init_checkpoint)
    config = fitting_config(
        bert_config_file, checkpoint, old, allow_other_vocabulary=allow_other_vocabulary
    )
    larger = dataclasses.replace(config, vocab_size=max(config.vocab_size, new_size))
    kept = np.setdiff1d(np.arange(config.vocab_size), list(pieces))
    before = _outputs(config, init_checkpoint, texts, kept)
    write_config(folder, larger)
    values = {
        name: _extend(checkpoint.read(name), larger.vocab_size, pieces)
        if _is_of_tokens(name)
        else checkpoint.read(name)
        for name in _names(checkpoint, config)
    }
    save_checkpoint(folder, int(values.get(_STEP, 0)), values, num_kept=1)
    del values
    after = _outputs(larger, folder, texts, kept)
    difference = max(float(np.abs(a - b).max()) for a, b in zip(before, after, strict=True))
    if not difference <= _LARGEST_DIFFERENCE:
        raise ValueError(
            f"the outputs of the extended model differ by {difference:.1e} for texts without new"
            f" tokens; at most {_LARGEST_DIFFERENCE:.0e} is allowed"
        )
    return checkpoint.prefix, Comparison(num_texts=len(texts), difference=difference)


def _names(checkpoint: Weights, config: BertConfig) -> list[str]:
    """Return the variables to write: all of a checkpoint, or those of a model in a folder."""
    if isinstance(checkpoint, Checkpoint):
        return checkpoint.names
    return [name for name in named_weights(pretraining_model(config)) if name in checkpoint]


def _is_of_tokens(name: str) -> bool:
    """Whether a variable, or an optimizer's moment of one, has a row for each token."""
    return any(name == each or name.startswith(f"{each}/") for each in _OF_TOKENS)


def _extend(rows: np.ndarray | bytes, size: int, pieces: Mapping[int, Sequence[int]]) -> np.ndarray:
    """Return [size, ...] with the mean of the pieces' rows in place of each new token."""
    assert isinstance(rows, np.ndarray)
    extended = np.zeros((size, *rows.shape[1:]), rows.dtype)
    extended[: len(rows)] = rows
    for number, ids in pieces.items():
        extended[number] = rows[list(ids)].mean(axis=0)
    return extended


def _outputs(
    config: BertConfig, path: str, texts: Sequence[Sequence[int]], kept: np.ndarray
) -> list[np.ndarray]:
    """Return hidden states, pooled outputs and scores of the tokens `kept`, text by text."""
    model, checkpoint = pretraining_model(config), open_weights(path)
    weights = {
        name: variable
        for name, variable in named_weights(model).items()
        if name.startswith(_ENCODER) or name in checkpoint  # a missing head has the same in both
    }
    assign_weights(checkpoint, weights)
    predictions = model.heads.parts["predictions"]
    table = model.encoder.embeddings.word_embeddings.value
    outputs: list[np.ndarray] = []
    for first in range(0, len(texts), _TEXTS_AT_A_TIME):
        some = [
            text[: config.max_position_embeddings]
            for text in texts[first : first + _TEXTS_AT_A_TIME]
        ]
        ids = tf.ragged.constant(some, dtype=tf.int32)
        mask = tf.ones_like(ids).to_tensor()
        wide = ids.to_tensor()
        hidden, pooled = model.encoder(wide, mask, tf.zeros_like(wide))
        count = min(_NUM_PREDICTIONS, wide.shape[1])
        positions = tf.tile(tf.range(count)[tf.newaxis], [wide.shape[0], 1])
        scores = predictions(hidden, positions, table).numpy()[..., kept]
        outputs += [hidden.numpy(), pooled.numpy(), scores]
    return outputs
