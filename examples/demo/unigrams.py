"""The best loss on the masked tokens that a model without context can reach.

loss of the best such model = - mean over masked tokens of log p(token),
                              p = how often each token is masked in the training records
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnigramLoss:
    """Losses on the held-out masked tokens, in nats per token.

    Attributes:
      cross_entropy: of guessing each token by its share of the training records.
      entropy: of guessing it by its share of the held-out masked tokens themselves: a lower bound
        for all models without context.
      num_tokens: number of held-out masked tokens.
    """

    cross_entropy: float
    entropy: float
    num_tokens: int


def unigram_loss(
    train: NDArray[np.int64], held_out: NDArray[np.int64], *, vocab_size: int
) -> UnigramLoss:
    """Compute the loss of guessing by frequency alone.

    Args:
      train: int64[n], the masked tokens of the training records, ids in [0, vocab_size).
      held_out: int64[m], m > 0, the masked tokens of the held-out records.
      vocab_size: number of tokens. One is added to the count of each, so that none is impossible.
    """
    seen = np.bincount(train, minlength=vocab_size) + 1.0
    asked = np.bincount(held_out, minlength=vocab_size) / len(held_out)
    there = asked > 0
    return UnigramLoss(
        cross_entropy=float(-(asked[there] * np.log(seen[there] / seen.sum())).sum()),
        entropy=float(-(asked[there] * np.log(asked[there])).sum()),
        num_tokens=len(held_out),
    )
