"""Mistakes in the parameters of steps, and the sentences that tell them.

A row of mistakes.tsv has a step, parameters as in Python, and a regular expression.
"""

import math

import pytest

from bert_data.curation.step import make_step
from tests.curation.labels import FOLDER

ROWS = (FOLDER / "mistakes.tsv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("row", ROWS)
def test_mistakes_in_parameters_are_told(row):
    name, parameters, sentence = row.split("\t")
    with pytest.raises(ValueError, match=sentence):
        make_step(name, eval(parameters, {"nan": math.nan}))
