"""The settings of making instances."""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

from bert_data.records.choices import DEFAULT, MAX_SEQ_LENGTH, MIN_SEQ_LENGTH, OBJECTIVE_NAMES
from bert_data.records.masking.config import MaskingConfig
from bert_data.settings import OneOf, Share, Within

if TYPE_CHECKING:
    from bert_data.records.objectives import Objective

MAX_DUPE_FACTOR = 1_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstanceConfig(MaskingConfig):
    """Configuration of `make_instances`; names and defaults are those of the reference's flags.

    Attributes:
      max_seq_length: maximum number of tokens in an instance.
      max_predictions_per_seq: maximum number of masked tokens in an instance.
      random_seed: seed for all random numbers.
      dupe_factor: number of passes over the text, each with different pairs and masks.
      short_seq_prob: probability, per document, of a target length below `max_seq_length`.
      next_sentence: the task for two segments, A and B. nsp: does B follow A, or is it from another
        document, as in BERT. sop: are A and B in order or swapped, as in ALBERT. none: no task; an
        instance is one segment, filled with consecutive sentences of a document (RoBERTa's
        DOC-SENTENCES, which uses `short_seq_prob=0`).
    """

    max_seq_length: Annotated[int, Within(MIN_SEQ_LENGTH, MAX_SEQ_LENGTH)] = 128
    max_predictions_per_seq: Annotated[int, Within(0, MAX_SEQ_LENGTH)] = 20
    random_seed: int = 12345
    dupe_factor: Annotated[int, Within(1, MAX_DUPE_FACTOR)] = 10
    short_seq_prob: Share = 0.1
    next_sentence: Annotated[str, OneOf(OBJECTIVE_NAMES)] = DEFAULT

    @property
    def objective(self) -> "Objective":
        """The objective that `next_sentence` names."""
        from bert_data.records.objectives import OBJECTIVES  # which loads NumPy

        return OBJECTIVES[self.next_sentence]

    def changed_flags(self) -> dict[str, Any]:
        """Return the settings that the reference does not have, where they change anything."""
        objective = {} if self.next_sentence == DEFAULT else {"next_sentence": self.next_sentence}
        return objective | super().changed_flags()
