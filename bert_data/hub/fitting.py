"""Check that a model's configuration, its weights and a vocabulary belong together.

fitting_config(None, open_weights("model"), vocabulary)  ->  BertConfig(vocab_size=4000, ...)
"""

import os

from bert_data.tokens.vocabulary import Vocabulary
from bert_data.training import BertConfig
from bert_data.training.config import PUBLISHED_VOCAB_SIZE
from bert_data.training.init_checkpoint import Weights
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
