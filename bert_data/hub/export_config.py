"""Configurations of exports, checked before TensorFlow is loaded."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Annotated

from bert_data import storage
from bert_data.settings import NotEmpty, OneOf, Within, check_settings

INPUTS = ("input_word_ids", "input_mask", "input_type_ids")
"""Names of the inputs of TF Hub's encoders."""
TOKENIZERS = ("exact", "fast")
MIN_ROW_LENGTH = 3  # [CLS] and two [SEP]
MAX_ROW_LENGTH = 2**31 - 1
DEFAULT_SEQ_LENGTH = 128
PREPROCESS, ENCODER = "preprocess", "encoder"
"""Folders of the SavedModels."""
VOCABULARY, WEIGHTS, CONFIG = "vocab.txt", "model.safetensors", "config.json"
"""Files of a folder of Hugging Face."""
CARD = "README.md"
MADE_BY = "<!-- Made by bert_data"
"""Begins the last line of a model's card, which only programs see; other files stay."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A trained model, and the vocabulary that it was trained with.

    Attributes:
      init_checkpoint: the weights: the folder of a training run, for its last checkpoint; the
        prefix of a checkpoint (.../bert_model.ckpt); or a Hugging Face folder (model.safetensors).
      bert_config_file: JSON file with the sizes of the model; by default, the bert_config.json or
        config.json beside the weights.
      vocab_file: the vocabulary that the model was trained with, one token per line.
      tokenizer_file: instead of `vocab_file`: a tokenizer.json of WordPiece with BERT's rules,
        which decides itself whether text is lower-cased.
      do_lower_case: with `vocab_file`: lower-case the text and drop accents, as for the model's
        training data. By default true, but an error if the vocabulary, a tokenizer_config.json
        beside the vocabulary or the weights, or the name of a released model says that it is cased.
      allow_other_vocabulary: allow a vocabulary that the model was not trained with.
    """

    init_checkpoint: str | None = None
    bert_config_file: str | None = None
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    do_lower_case: bool | None = None
    allow_other_vocabulary: bool = False

    @property
    def inputs(self) -> list[str]:
        """The files that are read; of a checkpoint its prefix or folder."""
        named = (self.vocab_file, self.tokenizer_file, self.init_checkpoint, self.bert_config_file)
        return [path for path in named if path]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportConfig(TrainedModel):
    """Configuration of `export`; without a vocabulary, or without weights, one of two folders.

    Attributes:
      output_dir: folder for preprocess/ and encoder/.
      seq_length: default width of rows; bert_pack_inputs can choose another. By default 128, or the
        model's max_position_embeddings if that is smaller.
      tokenizer: how the graph makes ids. exact: the ids of tokenization.py for every text, or with
        `tokenizer_file` those of the library tokenizers. fast: twice as fast, but other ids for
        some 7,500 code points and for words that end in a capital sigma.
      overwrite: replace folders that this command wrote.
    """

    output_dir: Annotated[str, NotEmpty()]
    seq_length: Annotated[int, Within(MIN_ROW_LENGTH, MAX_ROW_LENGTH)] | None = None
    tokenizer: Annotated[str, OneOf(TOKENIZERS)] = "exact"
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.has_text and not self.init_checkpoint:
            raise ValueError(
                "nothing to export: give `vocab_file` for preprocessing, `init_checkpoint` for an"
                " encoder, or both"
            )
        if self.bert_config_file and not self.init_checkpoint:
            raise ValueError("bert_config_file needs `init_checkpoint`, the weights")

    @property
    def has_text(self) -> bool:
        """Whether preprocessing is exported."""
        return bool(self.vocab_file or self.tokenizer_file)


@dataclasses.dataclass(frozen=True, kw_only=True)
class HuggingFaceExportConfig(TrainedModel):
    """Configuration of `export_hugging_face`.

    Attributes:
      output_dir: folder for the files.
      overwrite: replace existing files.
    """

    output_dir: Annotated[str, NotEmpty()]
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.init_checkpoint:
            raise ValueError("init_checkpoint is not set; it names the weights")

    @property
    def weights(self) -> str:
        """The weights, which are named."""
        assert self.init_checkpoint
        return self.init_checkpoint

    @property
    def inputs(self) -> list[str]:
        """The files that are read; of a checkpoint of TensorFlow its prefix or folder."""
        weights = self.weights
        folder = os.path.dirname(weights) if weights.endswith(WEIGHTS) else weights
        beside = (os.path.join(folder, name) for name in (WEIGHTS, CONFIG))
        return [*super().inputs, *filter(storage.exists, beside)]


def vocabulary_text(tokens: Sequence[str]) -> str:
    """Return the text of a vocab.txt."""
    return "".join(f"{token}\n" for token in tokens)


def check_fits(seq_length: int, most: int) -> None:
    """Check that a model with `most` positions reads rows of a width."""
    if seq_length > most:
        raise ValueError(
            f"seq_length is {seq_length}; the model reads up to {most} tokens"
            f" (max_position_embeddings): use `seq_length={most}` or less"
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetCardConfig:
    """Configuration of `write_dataset_card`.

    Attributes:
      input_file: manifest of the data: curation.NAME.json from `curate`, PREFIX.store.json from
        `tokenize`, manifest.NAME.json from `create` and `build-samples`.
      overwrite: replace an existing README.md.
      name: name of the data set; by default that of its files.
      license: licence of the data set as a whole, as the hub names it, such as odc-by.
      languages: languages of the texts, as codes such as en, separated by commas.
    """

    input_file: str
    overwrite: bool = False
    name: str | None = None
    license: str | None = None
    languages: str | None = None

    def __post_init__(self) -> None:
        check_settings(self)
