"""Configuration of `bert_data.hub.export`, which is checked before TensorFlow is imported.

ExportConfig(vocab_file="vocab.txt", init_checkpoint="model", output_dir="hub")
"""

import dataclasses
from typing import Annotated

from bert_data.settings import OneOf, Within, check_settings

TOKENIZERS = ("exact", "fast")
MIN_SEQ_LENGTH = 3  # [CLS] and two [SEP]
MAX_SEQ_LENGTH = 2**31 - 1
DEFAULT_SEQ_LENGTH = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A trained model, and the vocabulary that it was trained with.

    Attributes:
      init_checkpoint: the weights: the folder of a training run, which stands for its last
        checkpoint, the prefix of a checkpoint (.../bert_model.ckpt), or a folder of Hugging Face
        (model.safetensors).
      bert_config_file: JSON file with the sizes of the model; by default, the bert_config.json or
        config.json beside the weights.
      vocab_file: vocabulary, one token per line: the one that the model was trained with.
      tokenizer_file: instead of `vocab_file`: a tokenizer.json of WordPiece with BERT's rules,
        which itself says whether text is lower-cased.
      do_lower_case: lower-case the text and drop accents, as for the model's training data.
      allow_other_vocabulary: use another vocabulary than the one that the model was trained with.
    """

    init_checkpoint: str | None = None
    bert_config_file: str | None = None
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    do_lower_case: bool = True
    allow_other_vocabulary: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportConfig(TrainedModel):
    """Configuration of `export`; without a vocabulary, or without weights, one of two folders.

    Attributes:
      output_dir: folder for preprocess/ and encoder/.
      seq_length: default width of rows; bert_pack_inputs can choose another. By default 128, or the
        model's max_position_embeddings if that is smaller.
      tokenizer: how the graph makes ids. exact: those of tokenization.py for every text. fast:
        twice as fast, but with other ids for some 7,500 code points and for words that end in a
        capital sigma.
      overwrite: replace folders that this command wrote.
    """

    output_dir: str
    seq_length: Annotated[int, Within(MIN_SEQ_LENGTH, MAX_SEQ_LENGTH)] | None = None
    tokenizer: Annotated[str, OneOf(TOKENIZERS)] = "exact"
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.output_dir:
            raise ValueError("output_dir is ''; it must be a folder")
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

    @property
    def inputs(self) -> list[str]:
        """The files that are read; of a checkpoint its prefix or folder."""
        named = (self.vocab_file, self.tokenizer_file, self.init_checkpoint, self.bert_config_file)
        return [path for path in named if path]


def check_seq_length(seq_length: int) -> None:
    """Check the default width of rows.

    Raises:
      ValueError: it is not an integer, too small or too large.
    """
    if type(seq_length) is not int or not MIN_SEQ_LENGTH <= seq_length <= MAX_SEQ_LENGTH:
        allowed = f"an integer in [{MIN_SEQ_LENGTH}, {MAX_SEQ_LENGTH}]"
        raise ValueError(f"seq_length is {seq_length!r}; it must be {allowed}")
