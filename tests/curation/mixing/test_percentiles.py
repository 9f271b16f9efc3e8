"""Percentiles of scores, exact for any shards and any memory."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data.curation.mixing.percentiles import find_bounds, write_scores
from bert_data.work import rounds
from bert_data.work.rounds import Part, Rounds

SCORES = st.lists(
    st.floats(-10, 10) | st.sampled_from([-0.0, 0.0, 0.5, 1e300, -1e300]), max_size=60
)


def bounds_of(folder, shards, percentiles, max_bytes):
    """The bounds for shards of (data set, scores)."""
    parts, first = [], 0
    for number, (source, scores) in enumerate(shards):
        path = folder / f"{number}"
        path.mkdir()
        write_scores(path, np.array(scores, np.float64))
        parts.append(Part(str(path), source, first, first + len(scores), 10**9))
        first += len(scores)
    return find_bounds(Rounds(str(folder / "round"), parts, max_bytes), ["a", "b"], percentiles)


@settings(max_examples=25)
@given(SCORES, SCORES, st.integers(1, 4), st.sampled_from([(50,), (0.1, 30, 60, 99.9)]))
def test_they_are_those_of_sorting(tmp_path_factory, a, b, num_shards, percentiles):
    shards = [
        ("c", [math.pi]),
        *((s, v[i::num_shards]) for s, v in (("a", a), ("b", b)) for i in range(num_shards)),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "_MIN_BYTES", 1)
        patch.setattr(rounds, "_PROCESS_BYTES", 0)
        found = [
            bounds_of(tmp_path_factory.mktemp("s"), shards, percentiles, max_bytes)
            for max_bytes in (600, 10**9)
        ]
    assert found[0] == found[1]
    for source, scores in (("a", a), ("b", b)):
        places = [int(len(scores) * percentile / 100) for percentile in percentiles]
        assert found[0][source] == ([sorted(scores)[p] for p in places] if scores else [])
        for bound, percentile in itertools.product(found[0][source], percentiles):
            if bound == found[0][source][percentiles.index(percentile)]:
                lower = sum(score < bound for score in scores)
                assert lower <= len(scores) * percentile / 100
