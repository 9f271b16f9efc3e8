"""How many epochs the samples need, and which samples they give.

    258 tokens, seq_length 16, 20 samples:   epoch 0 |epoch 1 |      2 epochs, 32 samples
                                             0 ... 15|16 ... 31      the last one on its own

The arithmetic of Megatron-LM's GPTDataset, in integers: its own count of samples is a float32 where
the last, partial sample is kept, and wrong beyond 2**24.
"""

import dataclasses

MAX_SAMPLES = 1 << 40
"""Of a data set or a blend; their indices would take more than 16 TB."""

MAX_EPOCHS = 1_000_000
_SEPARATE_BELOW = 0.80  # of an epoch's samples


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpochCounts:
    """The epochs of a data set.

    Attributes:
      tokens_per_epoch: in all its documents, >= 1.
      seq_length: tokens from one sample's start to the next one's.
      extra_tokens: 1 if a sample has one token more than `seq_length`, which is the next one's
        first; else 0.
      num_epochs: >= 1.
      num_samples: number of samples, >= those asked for.
      num_first: samples that are shuffled on their own, before the rest: all of them, or those
        before a separate last epoch.
      is_last_separate: whether the documents and samples of the last epoch are shuffled on their
        own. They are if little of it is needed: each document is then used equally often, or once
        more.
      is_last_partial: whether the last sample is padded.
    """

    tokens_per_epoch: int
    seq_length: int
    extra_tokens: int
    num_epochs: int
    num_samples: int
    num_first: int
    is_last_separate: bool
    is_last_partial: bool

    @property
    def samples_per_epoch(self) -> float:
        """Samples that one pass over the documents gives."""
        return max(self.tokens_per_epoch - self.extra_tokens, 1) / self.seq_length


def plan_epochs(
    tokens_per_epoch: int,
    seq_length: int,
    num_samples: int | None,
    *,
    add_extra_token: bool = True,
    drop_last_partial: bool = True,
) -> EpochCounts:
    """Find the fewest epochs that give the samples.

    Args:
      tokens_per_epoch: >= 1.
      seq_length: >= 1.
      num_samples: number of samples; None: those of one epoch.
      add_extra_token: whether a sample has `seq_length` + 1 tokens.
      drop_last_partial: whether tokens at the end that do not fill a sample are dropped.

    Raises:
      ValueError: one epoch does not fill a sample.
    """
    extra = int(add_extra_token)
    num_epochs = 1
    if num_samples is not None:
        num_epochs = max(1, -(-(num_samples * seq_length + extra) // tokens_per_epoch))
    usable = num_epochs * tokens_per_epoch - extra
    num_whole, num_left = divmod(usable, seq_length)
    is_partial = not drop_last_partial and num_left > 0
    num_made = num_whole + int(is_partial)
    if num_made < 1:
        raise ValueError(
            f"seq_length is {seq_length:,}, but one epoch has {tokens_per_epoch:,} tokens; at most "
            f"{tokens_per_epoch - extra:,} is allowed"
        )
    num_before = (usable - tokens_per_epoch) // seq_length
    separate = False
    if num_samples is not None and num_epochs > 1:
        per_epoch = (tokens_per_epoch - extra) // seq_length
        separate = num_samples - num_before < int(_SEPARATE_BELOW * per_epoch)
    return EpochCounts(
        tokens_per_epoch=tokens_per_epoch,
        seq_length=seq_length,
        extra_tokens=extra,
        num_epochs=num_epochs,
        num_samples=num_made,
        num_first=num_before if separate else num_made,
        is_last_separate=separate,
        is_last_partial=is_partial,
    )


def count_samples(
    tokens_per_epoch: int, seq_length: int, num_epochs: int, *, add_extra_token: bool = True
) -> int:
    """Whole samples in some epochs."""
    return (num_epochs * tokens_per_epoch - int(add_extra_token)) // seq_length
