"""A pretrained model's configuration, weights and vocabulary, which must belong together.

fitting_config(None, open_weights("model"), vocabulary)  ->  BertConfig(vocab_size=4000, ...)

checkpoint  ->  {"bert/encoder/layer_0/output/dense/kernel": float32[3072, 768], ...}
            ->  bytes of model.safetensors with bert.encoder.layer.0.output.dense.weight [768, 3072]
"""

import os
from collections.abc import Mapping

import numpy as np
import safetensors.numpy
from absl import logging

from bert_data.tokens.vocabulary import Vocabulary
from bert_data.training import BertConfig, pretraining_model
from bert_data.training.config import PUBLISHED_VOCAB_SIZE
from bert_data.training.hugging_face import hugging_face_name, is_transposed
from bert_data.training.init_checkpoint import Weights, check_shapes, open_weights
from bert_data.training.model import named_weights
from bert_data.training.model_vocabulary import ModelVocabulary, check_vocabulary
from bert_data.training.output_folder import folder_config


def fitting_config(
    bert_config_file: str | None,
    checkpoint: Weights,
    vocabulary: Vocabulary | None,
    *,
    allow_other_vocabulary: bool = False,
) -> BertConfig:
    """Return the configuration of a model after comparing it with a vocabulary.

    Args:
      bert_config_file: the model's sizes, a file or a published name; None: the file beside the
        weights.
      vocabulary: of the model's text; None: it is not compared.
      allow_other_vocabulary: whether it may be another one than that of the training.

    Raises:
      ValueError: the configuration is not known, or the vocabulary is not the one that the model
        was trained with.
    """
    if bert_config_file:
        table = "bert/embeddings/word_embeddings"
        size = checkpoint.shape(table)[0] if table in checkpoint else PUBLISHED_VOCAB_SIZE
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


_ENCODER, _POOLER = "bert/", "bert/pooler/"
_HEADS = ("cls/predictions/", "cls/seq_relationship/")


def read_weights(
    init_checkpoint: str,
    bert_config_file: str | None,
    vocabulary: Vocabulary,
    *,
    allow_other_vocabulary: bool = False,
) -> tuple[str, BertConfig, dict[str, np.ndarray]]:
    """Read all weights that an export writes.

    A checkpoint without a head is exported without it; one without the next-sentence head also
    without the pooler, as `BertForMaskedLM` has it.

    Returns:
      The checkpoint's prefix, the model's configuration, and the weights by released name.

    Raises:
      ValueError: the checkpoint does not fit the vocabulary or the configuration.
    """
    checkpoint = open_weights(init_checkpoint)
    model = fitting_config(
        bert_config_file, checkpoint, vocabulary, allow_other_vocabulary=allow_other_vocabulary
    )
    variables = named_weights(pretraining_model(model))
    for head in _HEADS:
        if f"{head}output_bias" not in checkpoint:
            logging.warning("%s has no %s*; it is not exported", checkpoint.prefix, head)
            variables = {name: v for name, v in variables.items() if not name.startswith(head)}
    has = [any(name.startswith(head) for name in variables) for head in _HEADS]
    if has == [True, False]:
        variables = {name: v for name, v in variables.items() if not name.startswith(_POOLER)}
    elif has == [False, True]:
        variables = {name: v for name, v in variables.items() if name.startswith(_ENCODER)}
    check_shapes(checkpoint, variables)
    weights = {name: np.asarray(checkpoint.read(name), np.float32) for name in variables}
    return checkpoint.prefix, model, weights


def safetensors_of(weights: Mapping[str, np.ndarray]) -> bytes:
    """Return weights, by released name, as the content of a model.safetensors."""
    tensors = {
        hugging_face_name(key): np.ascontiguousarray(array.T if is_transposed(key) else array)
        for key, array in weights.items()
    }
    return safetensors.numpy.save(tensors, metadata={"format": "pt"})
