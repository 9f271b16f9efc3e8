"""Save the preprocessing and the encoder as SavedModels.

FastTokenizer  ->  hub/.preprocess.TOKEN.partial/{saved_model.pb, assets/vocab.txt, ...}
Checkpoint     ->  hub/.encoder.TOKEN.partial/{saved_model.pb, variables/...}
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf
from absl import logging

from bert_data.hub.config import DEFAULT_SEQ_LENGTH, ExportConfig
from bert_data.hub.encoding import EncoderObject, load_encoder
from bert_data.hub.preprocessing import Preprocessing
from bert_data.hub.pretrained import fitting_config
from bert_data.storage import is_remote, read_bytes, write_bytes
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.training.checkpoints import naming_write
from bert_data.training.init_checkpoint import Weights, open_weights
from bert_data.training.model_vocabulary import (
    ModelVocabulary,
    find_vocabularies,
    keep_vocabulary,
)

__all__ = [
    "VocabularyAssets",
    "encoders_vocabularies",
    "load_fitting_encoder",
    "naming_write",
    "open_weights",
    "save_encoder",
    "save_preprocessing",
    "vocabulary_assets",
]

_NUM_SEGMENTS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyAssets:
    """The two attributes by which TF Hub's objects describe their tokenization.

    Attributes:
      path: of the vocabulary file.
      do_lower_case: whether text is lower-cased.
    """

    path: str
    do_lower_case: bool

    @property
    def name(self) -> str:
        """The vocabulary's path in the folder of a SavedModel."""
        return f"assets/{os.path.basename(self.path)}"

    def attach_to(self, target: tf.Module | tf.train.Checkpoint) -> None:
        """Set the attributes of an object that will be saved."""
        target.vocab_file = tf.saved_model.Asset(self.path)
        target.do_lower_case = tf.Variable(self.do_lower_case, trainable=False)


def vocabulary_assets(config: ExportConfig, text: FastTokenizer, scratch: str) -> VocabularyAssets:
    """Return the assets of a tokenizer; write a file that TensorFlow can read if there is none."""
    path = config.vocab_file
    if path is not None and is_remote(path):
        copy = os.path.join(scratch, os.path.basename(path))
        write_bytes(copy, read_bytes(path))
        path = copy
    elif path is None:
        path = os.path.join(scratch, "vocab.txt")
        write_bytes(path, "".join(f"{token}\n" for token in text.vocabulary.tokens).encode())
    return VocabularyAssets(path=path, do_lower_case=text.do_lower_case)


def save_preprocessing(
    config: ExportConfig,
    text: FastTokenizer,
    assets: VocabularyAssets,
    folder: str,
    *,
    seq_length: int,
) -> None:
    """Save the graph that turns texts into rows of ids, `seq_length` by default.

    Raises:
      tf.errors.OpError: it cannot be written.
    """
    preprocessing = Preprocessing(
        text.vocabulary,
        do_lower_case=text.do_lower_case,
        tokenizer=config.tokenizer,
        default_seq_length=seq_length,
        max_word_letters=text.max_word_letters,
    )
    assets.attach_to(preprocessing.tokenize)
    _save(preprocessing, preprocessing.__call__, folder)
    keep_vocabulary(folder, ModelVocabulary.of(text.vocabulary), assets.name)


def save_encoder(
    encoder: EncoderObject,
    assets: VocabularyAssets | None,
    folder: str,
    vocabularies: Sequence[ModelVocabulary],
) -> None:
    """Save an encoder.

    Args:
      vocabularies: of its text, or of its training if that is not known.

    Raises:
      tf.errors.OpError: it cannot be written.
    """
    if assets:
        assets.attach_to(encoder)
    _save(encoder, encoder.serve, folder)
    if vocabularies:
        keep_vocabulary(folder, vocabularies[0], assets.name if assets else None)


def _save(target: Any, serve: Any, folder: str) -> None:
    with _quiet_tensorflow():
        tf.saved_model.save(target, folder, signatures={"serving_default": serve})


def encoders_vocabularies(text: FastTokenizer | None, model: str) -> list[ModelVocabulary]:
    """Return the vocabulary of an encoder: that of its text, or else of its training."""
    return [ModelVocabulary.of(text.vocabulary)] if text else find_vocabularies(model)


def load_fitting_encoder(
    config: ExportConfig, checkpoint: Weights, vocabulary: Vocabulary | None
) -> tuple[EncoderObject, int]:
    """Load the encoder of a checkpoint, after checking that vocabulary and sizes fit it.

    Returns:
      The encoder, and the default width of rows for it.

    Raises:
      ValueError: they do not, or the sizes are not known.
    """
    model = fitting_config(
        config.bert_config_file,
        checkpoint,
        vocabulary,
        allow_other_vocabulary=config.allow_other_vocabulary,
    )
    most = model.max_position_embeddings
    seq_length = config.seq_length or min(DEFAULT_SEQ_LENGTH, most)
    if vocabulary and seq_length > most:
        raise ValueError(
            f"seq_length is {seq_length}; the model reads up to {most} tokens"
            f" (max_position_embeddings): use `seq_length={most}` or less"
        )
    if model.type_vocab_size < _NUM_SEGMENTS:
        logging.warning(
            "the model has a single segment (type_vocab_size); do not pass it pairs of texts"
        )
    return load_encoder(checkpoint, model), seq_length


@contextlib.contextmanager
def _quiet_tensorflow() -> Iterator[None]:
    """Keep TensorFlow from logging hidden folder names and the like while it saves."""
    logger = logging.get_absl_logger()
    level = logger.level  # not get_verbosity(), which is never "as the root logger"
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)
