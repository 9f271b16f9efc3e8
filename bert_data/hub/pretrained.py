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

from bert_data.tokens.vocabulary import TokenTable
from bert_data.training import BertConfig, pretraining_model
from bert_data.training.bert_config import PUBLISHED_VOCAB_SIZE
from bert_data.training.checkpoints import folder_config
from bert_data.training.hugging_face_weights import hugging_face_name, is_transposed
from bert_data.training.model_vocabulary import ModelVocabulary, check_vocabulary
from bert_data.training.state import Weights, check_shapes, open_weights

_POOLER, _HEADS = "bert/pooler/", ("cls/predictions/", "cls/seq_relationship/")
_WORDS = "bert/embeddings/word_embeddings"


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
        logging.warning(
            "%s has no variables %s*; the export leaves them out", checkpoint.prefix, head
        )
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
