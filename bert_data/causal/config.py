"""Configuration of GPT samples."""

import dataclasses

from bert_data.bounds import check_integer
from bert_data.causal.documents import parse_split
from bert_data.plain_values import make_plain

_MAX_SEED = 2**32 - 1
_MAX_SEQ_LENGTH = 2**31 - 2
_MAX_ID = 2**31 - 1
EOD_OPTIONS = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")
"""Fields of `GptConfig` that look at ends of documents."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GptConfig:
    """Configuration of GPT data sets; names are Megatron-LM's where it has them.

    Attributes:
      seq_length: tokens per sample, >= 1.
      seed: for the order of documents and samples, in [0, 2**32).
      split: shares of train, valid and test, such as "969,30,1"; see `parse_split`.
      add_extra_token_to_sequence: whether a sample is drawn with one more token, the label of its
        last position.
      drop_last_partial_validation_sequence: whether tokens at the end of the valid split that do
        not fill a sample are dropped; otherwise the sample is padded with 0, which carries no loss.
      eod_id: the end-of-document token; the three options that follow need it.
      reset_position_ids: whether positions restart from 0 after each end of a document.
      reset_attention_mask: whether positions attend to nothing before the last end of a document.
      eod_mask_loss: whether the token after the end of a document is not predicted.
      cache_dir: folder that keeps indices for the next time; None: nowhere.
      verify: whether to check every byte of stores and kept indices when they are opened, instead
        of sizes, edges and some places between them.
    """

    seq_length: int
    seed: int = 1234
    split: str = "1"
    add_extra_token_to_sequence: bool = True
    drop_last_partial_validation_sequence: bool = True
    eod_id: int | None = None
    reset_position_ids: bool = False
    reset_attention_mask: bool = False
    eod_mask_loss: bool = False
    cache_dir: str | None = None
    verify: bool = False

    def __post_init__(self) -> None:
        make_plain(self)
        check_integer("seq_length", self.seq_length, 1, _MAX_SEQ_LENGTH)
        check_integer("seed", self.seed, 0, _MAX_SEED)
        parse_split(self.split)
        if self.eod_id is not None:
            check_integer("eod_id", self.eod_id, 0, _MAX_ID)
        for name in EOD_OPTIONS:
            if getattr(self, name) and self.eod_id is None:
                raise ValueError(f"{name} needs eod_id, the id of the end-of-document token")

    @property
    def sample_tokens(self) -> int:
        """Tokens that a sample is drawn with."""
        return self.seq_length + int(self.add_extra_token_to_sequence)

    def drops_last_partial(self, split: str) -> bool:
        """Whether a split has whole samples only."""
        return split != "valid" or self.drop_last_partial_validation_sequence
