"""How well a classifier does on texts that it was not trained on.

labels [0 0 1 1], judged [0 1 1 1]   ->  precision, recall and F1 of each label
scores of the first label            ->  the least scores that keep a share of the other labels
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SHARES = (0.5, 0.25, 0.1, 0.05, 0.01)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelQuality:
    """How well texts of a label are recognized; None where nothing can be divided.

    Attributes:
      label: its name.
      num_texts: of the label.
      precision: share of the texts judged to have the label that do have it.
      recall: share of the texts of the label that are judged to have it.
      f1: harmonic mean of precision and recall.
    """

    label: str
    num_texts: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cut:
    """A least score for the first label.

    Attributes:
      score: the least score of a kept text.
      kept_of_first: share of the texts of the first label that it keeps.
      kept_of_others: share of all other texts that it keeps.
    """

    score: float
    kept_of_first: float
    kept_of_others: float


def judge_labels(
    labels: Sequence[str], targets: NDArray[np.int32], judged: NDArray[np.int32]
) -> tuple[LabelQuality, ...]:
    """Compare labels with judgements.

    Args:
      labels: names.
      targets: [texts], numbers of their labels.
      judged: [texts], numbers of the labels that the model gives; -1: none.
    """
    qualities = []
    for number, label in enumerate(labels):
        num_texts = int(np.count_nonzero(targets == number))
        num_judged = int(np.count_nonzero(judged == number))
        num_right = int(np.count_nonzero((targets == number) & (judged == number)))
        total = num_texts + num_judged
        qualities.append(
            LabelQuality(
                label=label,
                num_texts=num_texts,
                precision=num_right / num_judged if num_judged else None,
                recall=num_right / num_texts if num_texts else None,
                f1=2 * num_right / total if total else None,
            )
        )
    return tuple(qualities)


def find_cuts(is_first: NDArray[np.bool_], scores: NDArray[np.float32]) -> tuple[Cut, ...]:
    """Return the least scores that keep about each of `SHARES` of the other texts.

    Args:
      is_first: [texts], whether they have the first label.
      scores: [texts], of the first label.
    """
    first, others = scores[is_first], np.sort(scores[~is_first])[::-1]
    if not len(first):
        return ()
    cuts = []
    for share in SHARES:
        num_kept = int(share * len(others))
        if num_kept:
            score = float(others[num_kept - 1])
            cuts.append(
                Cut(
                    score=score,
                    kept_of_first=float(np.mean(first >= score)),
                    kept_of_others=float(np.mean(others >= score)),
                )
            )
    return tuple(cuts)
