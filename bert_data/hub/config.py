"""Configuration of `bert_data.hub.export`, which is checked before TensorFlow is imported.

ExportConfig(vocab_file="vocab.txt", init_checkpoint="model", output_dir="hub")
"""

import dataclasses

from bert_data.bounds import check_choice
from bert_data.plain_values import make_plain

TOKENIZERS = ("exact", "fast")
MIN_SEQ_LENGTH = 3  # [CLS] and two [SEP]
MAX_SEQ_LENGTH = 2**31 - 1
DEFAULT_SEQ_LENGTH = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """Configuration of `export`.

    Attributes:
      output_dir: folder that receives the folders "preprocess" and "encoder".
      vocab_file: the vocabulary.
      tokenizer_file: instead, a tokenizer.json of WordPiece with BERT's rules. Without both, no
        preprocessing is exported.
      init_checkpoint: prefix of a checkpoint, the folder of a training run, which stands for its
        last one, or a folder of Hugging Face; None: no encoder is exported.
      bert_config_file: the model's sizes; None: the bert_config.json or config.json beside the
        weights.
      do_lower_case: whether the model's text is lower-cased and its accents are dropped; a
        tokenizer_file specifies this itself.
      seq_length: default width of the rows that preprocessing makes, in [3, 2**31); None: 128, or
        as many tokens as the model of init_checkpoint reads if they are fewer.
      tokenizer: "exact" or "fast", see `tokenizing`.
      allow_other_vocabulary: whether it may be another one than that of the model's training.
      overwrite: whether existing folders are replaced.
    """

    output_dir: str
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    init_checkpoint: str | None = None
    bert_config_file: str | None = None
    do_lower_case: bool = True
    seq_length: int | None = None
    tokenizer: str = "exact"
    allow_other_vocabulary: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        make_plain(self)
        if not self.output_dir:
            raise ValueError("output_dir is ''; it must be a folder")
        if not self.has_text and not self.init_checkpoint:
            raise ValueError(
                "nothing to export: give vocab_file for preprocessing, init_checkpoint for an"
                " encoder, or both"
            )
        if self.bert_config_file and not self.init_checkpoint:
            raise ValueError("bert_config_file needs init_checkpoint, the weights")
        if self.seq_length is not None:
            check_seq_length(self.seq_length)
        check_choice("tokenizer", self.tokenizer, TOKENIZERS)

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
