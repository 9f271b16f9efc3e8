"""Quality of a trained classifier on held-out texts, which it was not trained on."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

_LEARNED = 0.95
SHARES = (0.5, 0.25, 0.1, 0.05, 0.01)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelQuality:
    """Precision, recall and F1 of a label; None where nothing can be divided.

    Attributes:
      precision: share of the texts judged to have the label that do have it.
      recall: share of the texts of the label that are judged to have it.
    """

    label: str
    num_texts: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoreCut:
    """A least score for the first label.

    Attributes:
      score: the least score of a kept text.
      kept_of_first: share of the texts of the first label that it keeps.
      kept_of_others: share of all other texts that it keeps.
    """

    score: float
    kept_of_first: float
    kept_of_others: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedClassifier:
    """A classifier that was trained; `str` is its summary.

    Attributes:
      labels: names, the most frequent first.
      num_texts: of each label, held-out ones included.
      num_skipped: rows without a text that were left out.
      num_words: that have a vector of their own.
      loss: mean loss of a held-out text, in nats; None if there is none.
      chance_loss: that of equal scores for all labels, or of 1/2 for each with one against all.
      qualities: of each label on the held-out texts; () if there are none.
      cuts: least scores of the first class on the held-out texts, if the classes are two.
    """

    labels: tuple[str, ...]
    num_texts: tuple[int, ...]
    num_skipped: int
    num_words: int
    loss: float | None
    chance_loss: float
    qualities: tuple[LabelQuality, ...]
    cuts: tuple[ScoreCut, ...]

    @property
    def has_learned(self) -> bool:
        """Whether its scores differ from chance by more than a little, as far as is known."""
        return self.loss is None or self.loss < _LEARNED * self.chance_loss

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        pairs = zip(self.num_texts, self.labels, strict=True)
        texts = ", ".join(f"{number:,} {label}" for number, label in pairs)
        skipped = f" ({self.num_skipped:,} rows without a text were skipped)"
        yield f"texts: {texts}{skipped * bool(self.num_skipped)}"
        loss = "" if self.loss is None else f"; mean loss of a held-out text: {self.loss:.4f}"
        yield f"words: {self.num_words:,}{loss}"
        if self.qualities:
            width = max(len(each.label) for each in self.qualities)
            yield f"{'held out':{max(width, 8)}}   texts  precision  recall     F1"
            for each in self.qualities:
                shares = [
                    "-" if value is None else f"{value:.3f}"
                    for value in (each.precision, each.recall, each.f1)
                ]
                yield "{:{}}  {:6,}  {:>9}  {:>6}  {:>5}".format(
                    each.label, max(width, 8), each.num_texts, *shares
                )
        rows = dict.fromkeys(  # equal ones once
            (f"{cut.score:.4f}", f"{cut.kept_of_first:6.1%}", f"{cut.kept_of_others:5.1%}")
            for cut in self.cuts
        )
        for number, (score, first, others) in enumerate(rows):
            head = f"{score:>16}" if number else f"min_score {score} keeps"
            yield f"{head:22} {first} of the good texts and {others} of the others"


def judge_labels(
    labels: Sequence[str], targets: NDArray[np.int32], judged: NDArray[np.int32]
) -> tuple[LabelQuality, ...]:
    """Compare numbers of labels with those that the model gives; -1: none."""
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


def find_cuts(is_first: NDArray[np.bool_], scores: NDArray[np.float64]) -> tuple[ScoreCut, ...]:
    """Return the least scores that keep about each of `SHARES` of the other texts, and none."""
    first, others = scores[is_first], np.sort(scores[~is_first])[::-1]
    if not len(first):
        return ()
    kept = [int(share * len(others)) for share in SHARES]
    least = [float(others[number - 1]) for number in kept if number]
    above = first[first > others[0]] if least else first[:0]
    if len(above):
        least.append(float(above.min()))
    return tuple(
        ScoreCut(
            score=score,
            kept_of_first=float(np.mean(first >= score)),
            kept_of_others=float(np.mean(others >= score)),
        )
        for score in least
    )
