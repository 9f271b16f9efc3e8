"""Configuration of GPT samples."""

import dataclasses
from typing import Annotated

from bert_data.causal.documents import parse_split
from bert_data.settings import Within, check_settings

EOD_OPTIONS = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")
"""Fields of `GptConfig` that look at ends of documents."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GptConfig:
    """Configuration of GPT data sets; names are Megatron-LM's where it has them.

    Attributes:
      seq_length: tokens per sample.
      seed: seed for the order of documents and samples.
      split: shares of the documents for train, valid and test, such as 969,30,1.
      add_extra_token_to_sequence: draw one more token per sample, the label of the last position.
      drop_last_partial_validation_sequence: drop the last tokens of the valid split if they do not
        fill a sample, instead of padding.
      eod_id: id of the end-of-document token, for the three settings that follow.
      reset_position_ids: count positions from 0 after each end of a document.
      reset_attention_mask: let positions attend to their own document only.
      eod_mask_loss: do not predict the token after the end of a document.
      cache_dir: folder that keeps the indices.
      verify: first check every byte of the stores, by the checksums in their notes, and of the
        indices in `cache_dir`, instead of sizes, edges and some places between them.
    """

    seq_length: Annotated[int, Within(1, 2**31 - 2)]
    seed: Annotated[int, Within(0, 2**32 - 1)] = 1234
    split: str = "1"
    add_extra_token_to_sequence: bool = True
    drop_last_partial_validation_sequence: bool = True
    eod_id: Annotated[int, Within(0)] | None = None
    reset_position_ids: bool = False
    reset_attention_mask: bool = False
    eod_mask_loss: bool = False
    cache_dir: str | None = None
    verify: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        parse_split(self.split)
        for name in EOD_OPTIONS:
            if getattr(self, name) and self.eod_id is None:
                raise ValueError(f"{name} needs `eod_id`, the id of the end-of-document token")

    @property
    def sample_tokens(self) -> int:
        """Tokens that a sample is drawn with."""
        return self.seq_length + int(self.add_extra_token_to_sequence)

    def drops_last_partial(self, split: str) -> bool:
        """Whether a split has whole samples only."""
        return split != "valid" or self.drop_last_partial_validation_sequence
