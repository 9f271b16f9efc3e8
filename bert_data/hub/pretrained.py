"""A pretrained model's configuration, weights and vocabulary, which must belong together.

fitting_config(None, open_weights("model"), vocabulary)  ->  BertConfig(vocab_size=4000, ...)

checkpoint  ->  {"bert/encoder/layer_0/output/dense/kernel": float32[3072, 768], ...}
            ->  bytes of model.safetensors with bert.encoder.layer.0.output.dense.weight [768, 3072]

word_embeddings [30522, 768], {30522: [4003, 20282, 6483]}  ->  [30523, 768], whose last row is
                                                                the mean of these three
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence

import numpy as np
import safetensors.numpy
import tensorflow as tf
from absl import logging

from bert_data.tokens.vocabulary import TokenTable
from bert_data.training import BertConfig, pretraining_model
from bert_data.training.bert_config import PUBLISHED_VOCAB_SIZE
from bert_data.training.checkpoints import Checkpoint, folder_config, save_checkpoint, write_config
from bert_data.training.hugging_face_weights import hugging_face_name, is_transposed
from bert_data.training.model_vocabulary import ModelVocabulary, check_vocabulary
from bert_data.training.state import Weights, assign_weights, check_shapes, open_weights

_POOLER, _HEADS = "bert/pooler/", ("cls/predictions/", "cls/seq_relationship/")
_WITHOUT_HEADS = ("bert/embeddings/", "bert/encoder/")
_WORDS = "bert/embeddings/word_embeddings"
_OF_TOKENS = (_WORDS, "cls/predictions/output_bias")

_TEXTS_AT_A_TIME = 4
_NUM_PREDICTIONS = 8  # in each text
_LARGEST_DIFFERENCE = 1e-4


def fitting_config(
    bert_config_file: str | None,
    checkpoint: Weights,
    vocabulary: TokenTable | None,
    *,
    allow_other_vocabulary: bool = False,
) -> BertConfig:
    """Return the configuration of a model after comparing it with a vocabulary.

    Args:
      bert_config_file: the model's sizes, a file or a published name; None: the file beside the
        weights.
      vocabulary: of the model's text; None: it is not compared.
      allow_other_vocabulary: whether it may be another one than that of the training.
    """
    if bert_config_file:
        size = checkpoint.shape(_WORDS)[0] if _WORDS in checkpoint else PUBLISHED_VOCAB_SIZE
        config: BertConfig | None = BertConfig.load(bert_config_file, size)
    else:
        config = folder_config(os.path.dirname(checkpoint.prefix))
    if config is None:
        raise ValueError(
            f"there is no bert_config.json beside {checkpoint.prefix}: name bert_config_file"
        )
    if vocabulary and vocabulary.size > config.vocab_size:
        raise ValueError(
            f"vocabulary {vocabulary.path} has {vocabulary.size:,} tokens, more than the"
            f" {config.vocab_size:,} of the model (vocab_size): it is not the one that the model"
            " was trained with"
        )
    check_vocabulary(
        ModelVocabulary.of(vocabulary) if vocabulary else None,
        checkpoint.prefix,
        vocab_size=config.vocab_size,
        allow_other=allow_other_vocabulary,
    )
    return config


def read_weights(
    init_checkpoint: str,
    bert_config_file: str | None,
    vocabulary: TokenTable,
    *,
    allow_other_vocabulary: bool = False,
) -> tuple[Weights, BertConfig, dict[str, np.ndarray]]:
    """Open a checkpoint, and read configuration and weights by released name, for an export.

    A checkpoint without a head is exported without it; one without the next-sentence head also
    without the pooler, as `BertForMaskedLM` has it.
    """
    checkpoint = open_weights(init_checkpoint)
    model = fitting_config(
        bert_config_file, checkpoint, vocabulary, allow_other_vocabulary=allow_other_vocabulary
    )
    has = [f"{head}output_bias" in checkpoint for head in _HEADS]
    left_out = [head for head, is_there in zip(_HEADS, has, strict=True) if not is_there]
    for head in left_out:
        logging.warning("%s has no %s*; it is not exported", checkpoint.prefix, head)
    if has == [True, False]:
        left_out.append(_POOLER)
    elif has == [False, True]:
        left_out = ["cls/"]  # no class has the next-sentence head alone
    variables = {
        name: variable
        for name, variable in pretraining_model(model).released_weights().items()
        if not name.startswith(tuple(left_out))
    }
    check_shapes(checkpoint, variables)
    weights = {name: np.asarray(checkpoint.read(name), np.float32) for name in variables}
    return checkpoint, model, weights


def safetensors_of(weights: Mapping[str, np.ndarray]) -> bytes:
    """Return weights, by released name, as the content of a model.safetensors."""
    tensors = {
        hugging_face_name(key): np.ascontiguousarray(array.T if is_transposed(key) else array)
        for key, array in weights.items()
    }
    return safetensors.numpy.save(tensors, metadata={"format": "pt"})


def extend_weights(
    init_checkpoint: str,
    bert_config_file: str | None,
    folder: str,
    *,
    old: TokenTable,
    new_size: int,
    pieces: Mapping[int, Sequence[int]],
    texts: Sequence[Sequence[int]],
    allow_other_vocabulary: bool = False,
) -> tuple[str, float]:
    """Write a checkpoint and bert_config.json of the larger model, and compare the two models.

    Args:
      old: the vocabulary of the model as it is.
      pieces: for the id of each new token, the ids that it had been split into.
      texts: token ids without new tokens, to compare the models with.

    Returns:
      The prefix of the weights that were read, and the largest difference of outputs: in hidden
      states, pooled output and the scores of old tokens.
    """
    checkpoint = open_weights(init_checkpoint)
    config = fitting_config(
        bert_config_file, checkpoint, old, allow_other_vocabulary=allow_other_vocabulary
    )
    larger = dataclasses.replace(config, vocab_size=max(config.vocab_size, new_size))
    kept = np.setdiff1d(np.arange(config.vocab_size), list(pieces))
    before = _outputs(config, init_checkpoint, texts, kept)
    write_config(folder, larger)
    if isinstance(checkpoint, Checkpoint):
        names = checkpoint.names
    else:
        names = [n for n in pretraining_model(config).released_weights() if n in checkpoint]
    values = {
        name: _extend(checkpoint.read(name), larger.vocab_size, pieces)
        if _is_of_tokens(name)
        else checkpoint.read(name)
        for name in names
    }
    save_checkpoint(folder, int(values.get("global_step", 0)), values, num_kept=1)
    del values
    after = _outputs(larger, folder, texts, kept)
    difference = max(float(np.abs(a - b).max()) for a, b in zip(before, after, strict=True))
    if not difference <= _LARGEST_DIFFERENCE:
        raise ValueError(
            f"the outputs of the extended model differ by {difference:.1e} for texts without new"
            f" tokens; at most {_LARGEST_DIFFERENCE:.0e} is allowed"
        )
    return checkpoint.prefix, difference


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
        for name, variable in model.released_weights().items()
        if name.startswith(_WITHOUT_HEADS) or name in checkpoint  # a missing head is equal in both
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
