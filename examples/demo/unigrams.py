"""What a model that looks at no context can reach on the masked tokens.

loss of the best such model = - mean over masked tokens of log p(token),
                              p = how often each token is masked in the training records
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnigramLoss:
    """Losses on the held-out masked tokens, in nats a token.

    Attributes:
      cross_entropy: of guessing each token by its share of the training records.
      entropy: of guessing it by its share of the held-out masked tokens themselves, which no model
        without context can know: a bound below all of them.
      num_tokens: masked tokens that were counted.
    """

    cross_entropy: float
    entropy: float
    num_tokens: int


def unigram_loss(
    train: NDArray[np.int64], held_out: NDArray[np.int64], *, vocab_size: int
) -> UnigramLoss:
    """Measures guessing by frequency alone.

    Args:
      train: int64[n], the masked tokens of the training records, ids in [0, vocab_size).
      held_out: int64[m], m > 0, those of the held-out records.
      vocab_size: number of tokens there are. Each counts once more than it was seen, so that none
        is impossible.
    """
    seen = np.bincount(train, minlength=vocab_size) + 1.0
    asked = np.bincount(held_out, minlength=vocab_size) / len(held_out)
    there = asked > 0
    return UnigramLoss(
        cross_entropy=float(-(asked[there] * np.log(seen[there] / seen.sum())).sum()),
        entropy=float(-(asked[there] * np.log(asked[there])).sum()),
        num_tokens=len(held_out),
    )
