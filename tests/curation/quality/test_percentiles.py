"""Percentiles are the shares of documents that are better, whatever the shards and their order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.quality.percentiles import (
    bucket_of,
    check_percentiles,
    rank,
    ranked,
    save_values,
)
from bert_data.curation.step import read_decisions
from bert_data.work.rounds import Part, Rounds

COVERS = ("work/float_keys",)

VALUES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, -1e-300, np.inf, -np.inf]),
    st.floats(allow_nan=False),
)


@given(
    shards=st.lists(st.lists(VALUES, max_size=8), min_size=1, max_size=4).filter(any),
    higher_is_better=st.booleans(),
)
def test_percentiles(tmp_path_factory, shards, higher_is_better):
    folder = tmp_path_factory.mktemp("ranks")
    parts, first = [], 0
    for number, values in enumerate(shards):
        path = folder / f"{number}"
        save_values(path, values)
        parts.append(Part(str(path), "a", first, first + len(values), 100))
        first += len(values)
    rounds = Rounds(str(folder / "round"), parts, 10**6)
    decisions = rank(rounds, "step", (30, 60), higher_is_better=higher_is_better)
    everything = [value for values in shards for value in values]
    for part, values in zip(parts, shards, strict=True):
        found = list(ranked(read_decisions(decisions, part)))
        expected = [
            100 * sum(o > v if higher_is_better else o < v for o in everything) / len(everything)
            for v in values
        ]
        assert [value for value, _ in found] == values
        assert [percentile for _, percentile in found] == pytest.approx(expected)


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_values_at_the_percentiles_are_told(tmp_path, higher_is_better, caplog):
    save_values(tmp_path / "0", [-5.5, 3.0, 0.0, 8.0])
    parts = [Part(str(tmp_path / "0"), "a", 0, 4, 100)]
    with caplog.at_level("INFO", logger="absl"):
        rank(
            Rounds(str(tmp_path / "round"), parts, 10**6),
            "mine",
            (0, 50, 100),
            higher_is_better=higher_is_better,
        )
    values = ["8", "0", "-5.5"] if higher_is_better else ["-5.5", "3", "8"]
    told = [f"mine: percentile {p} is {v}" for p, v in zip((0, 50, 100), values, strict=True)]
    messages = [record.getMessage() for record in caplog.records]
    assert [message for message in messages if message.startswith("mine")] == told


def test_buckets_end_below_their_percentile():
    buckets = [bucket_of(percentile, 30, 60) for percentile in (0, 29.9, 30, 59.9, 60, 100)]
    assert buckets == ["head", "head", "middle", "middle", "tail", "tail"]
    with pytest.raises(ValueError, match="head_percentile is 61; it must be at most middle_perc"):
        check_percentiles(61, 60)
