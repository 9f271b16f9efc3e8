"""Runs of words are cut out of documents, and the share that is left is measured."""

import numpy as np
import pytest

from bert_data.curation.document import Measured
from bert_data.curation.duplicates.units_in_rounds import CUTS, UnitWriter, judge_cuts, number_units
from bert_data.work import open_executor
from bert_data.work.array_files import ArrayWriter
from bert_data.work.rounds import Part
from tests.curation.corpora import make_documents, make_rounds

WRAPPED = (
    "The miller went down to the river at noon on a day in May, and nobody\n"
    "saw him come back. His daughter asked the ferryman, who had been asleep\n"
    "since morning. He had not seen anybody, he said, and went on sleeping\n"
    "until it was dark."
)


def cuts(*rows):
    return np.array(list(rows), np.uint64).reshape(-1, 3).view(CUTS.dtype)[:, 0]


def test_runs_are_cut_and_counted():
    documents = make_documents(["a b c d", "a b\n\nc d\n\ne f", "", "x y"])
    table = cuts((0, 1, 2), (0, 2, 3), (1, 2, 4), (3, 0, 2))
    verdicts = list(judge_cuts(table, documents, 0.0, "runs"))
    assert [v.document.text for v in verdicts] == ["a d", "a b\n\ne f", "", ""]
    assert [v.edits for v in verdicts] == [{"runs": 2}, {"runs": 1}, {}, {"runs": 1}]
    values = [v.measured for v in verdicts]
    assert values == [(Measured("min_kept", x, 0.0),) for x in (0.5, 4 / 6, 1.0, 0.0)]


@pytest.mark.parametrize(("min_kept", "kept"), [(0.5, True), (0.51, False)])
def test_a_document_of_which_too_little_is_left_is_rejected_whole(min_kept, kept):
    (verdict,) = judge_cuts(cuts((0, 0, 2)), make_documents(["a b c d"]), min_kept, "runs")
    assert verdict.kept == kept
    assert verdict.document.text == ("c d" if kept else "a b c d")
    assert verdict.measured == (Measured("min_kept", 0.5, min_kept, failed=not kept),)


def test_sentences_are_those_of_joined_lines():
    (whole, joined) = (
        next(iter(judge_cuts(table, make_documents([WRAPPED]), 0.0, "sentences", "sentence")))
        for table in (cuts(), cuts((0, 20, 32)))
    )
    assert whole.document.text == WRAPPED
    assert "\n" not in joined.document.text
    assert joined.document.text.endswith("and went on sleeping until it was dark.")


def test_a_run_that_is_killed_later_gives_units_the_same_numbers(tmp_path):
    parts = []
    for number, (first, end, num_units) in enumerate([(0, 2, 3), (2, 2, 0), (2, 4, 0), (4, 5, 2)]):
        with ArrayWriter(tmp_path / f"{number}") as writer:
            units = UnitWriter()
            units.add(0, np.zeros((num_units, 2), np.int64))
            units.write(writer)
        parts.append(Part(f"{tmp_path}/{number}", "web", first, end, 10))
    for _ in range(2):
        with open_executor(1) as executor:
            rounds = make_rounds(tmp_path / "round", parts, 10**9, executor)
            number_units(rounds)
        assert [(part.first, part.end) for part in rounds.parts] == [(0, 3), (3, 3), (3, 3), (3, 5)]
