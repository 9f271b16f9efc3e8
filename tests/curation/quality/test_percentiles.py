"""Percentiles are the shares of documents that are better, whatever the shards and their order."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.quality.percentiles import PercentileStep, save_values
from bert_data.curation.step import read_decisions
from bert_data.work.rounds import Part, Rounds

VALUES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, -1e-300, np.inf, -np.inf]),
    st.floats(allow_nan=False),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ranking(PercentileStep):
    """Notes values, and the buckets and percentiles that follow from them."""

    name = "mine"
    score_field, bucket_field = "value", "bucket"
    higher_is_better: bool = False
    max_percentile: float = 60.0
    head_percentile: float = 30.0
    middle_percentile: float = 60.0

    def observe(self, folder, documents, path):
        raise NotImplementedError

    def judge_all(self, parts, folder):
        """Return the verdicts on the documents of each part."""
        decisions = self.decide(Rounds(str(folder), parts, 10**6))
        for part in parts:
            documents = [Document(str(n), "a", "") for n in range(part.first, part.end)]
            yield list(self.judge_shard(read_decisions(decisions, part), documents))


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
    step = Ranking(higher_is_better=higher_is_better)
    everything = [value for values in shards for value in values]
    for values, verdicts in zip(shards, step.judge_all(parts, folder / "round"), strict=True):
        expected = [
            100 * sum(o > v if higher_is_better else o < v for o in everything) / len(everything)
            for v in values
        ]
        assert [each.document.fields["value"] for each in verdicts] == values
        assert [each.measured[0].value for each in verdicts] == pytest.approx(expected)
        assert [each.kept for each in verdicts] == [p <= 60 for p in expected]


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_values_at_the_percentiles_are_told(tmp_path, higher_is_better, caplog):
    save_values(tmp_path / "0", [-5.5, 3.0, 0.0, 8.0])
    parts = [Part(str(tmp_path / "0"), "a", 0, 4, 100)]
    step = Ranking(higher_is_better=higher_is_better, head_percentile=50.0, middle_percentile=100.0)
    with caplog.at_level("INFO", logger="absl"):
        step.decide(Rounds(str(tmp_path / "round"), parts, 10**6))
    values = ["0", "-5.5"] if higher_is_better else ["3", "8"]
    told = [f"mine: percentile {p} is {v}" for p, v in zip((50, 100), values, strict=True)]
    messages = [record.getMessage() for record in caplog.records]
    assert [message for message in messages if message.startswith("mine")] == told
