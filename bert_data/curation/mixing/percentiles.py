"""Exact percentiles of the scores of each data set, in rounds of bounded memory.

scores.npy of each shard ──over_parts──▶ sorted ──over_ranges──▶ those at the wanted places
"""

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert_data.storage import load_array, save_array
from bert_data.work.float_keys import from_keys, to_keys
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.records import Layout
from bert_data.work.rounds import Own, Part, Rounds, Writers

_SCORES = "scores.npy"
_SCORE = Layout(("score",), num_keys=1)
_FOUND = Layout(("place", "score"), num_keys=1)


def write_scores(folder: Path, scores: NDArray[np.float64]) -> None:
    """Write the scores of a shard, [documents], finite, to its folder."""
    save_array(folder / _SCORES, scores)


def read_scores(folder: str) -> NDArray[np.float64]:
    """Return the scores of a shard, [documents]."""
    return load_array(os.path.join(folder, _SCORES))


def find_bounds(
    rounds: Rounds, sources: Sequence[str], percentiles: Sequence[float]
) -> dict[str, list[float]]:
    """Return the scores at percentiles of each data set.

    Percentile p of n scores is the one with n * p / 100 (rounded down) others before it.

    Args:
      sources: names of the data sets; the others have no scores.
      percentiles: above 0, below 100.
    """
    numbers = {source: str(number) for number, source in enumerate(sources)}
    scores = rounds.over_parts(
        "scores", functools.partial(_write, numbers), dict.fromkeys(numbers.values(), _SCORE)
    )
    bounds = {}
    for source, number in numbers.items():
        values = scores[number]
        places = [int(len(values) * percentile / 100) for percentile in percentiles]
        found = rounds.over_ranges(
            "percentiles", functools.partial(_find, sorted(set(places))), values, {"found": _FOUND}
        )["found"]
        records = RangeReader(found, Range(), 1 << 62).records()
        at = dict(zip(records["place"].tolist(), from_keys(records["score"]).tolist(), strict=True))
        bounds[source] = [at[place] for place in places] if len(values) else []
        rounds.remove(values)
    return bounds


def _write(numbers: Mapping[str, str], part: Part, own: Own, writers: Writers) -> None:
    if part.source in numbers:
        writers[numbers[part.source]].add(score=to_keys(read_scores(part.path)))


def _find(places: Sequence[int], reader: RangeReader, writers: Writers) -> None:
    before = reader.num_before
    for portion in reader.portions():
        for place in places:
            if before <= place < before + len(portion):
                score = portion[place - before, 0]
                writers["found"].add(place=np.array([place], np.uint64), score=np.array([score]))
        before += len(portion)
