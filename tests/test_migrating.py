"""docs/migrating.md is right about values that Google's program accepts, by its definition."""

import random
import re

import pytest

import tokenization
from bert_data.records.definition import create_training_instances
from bert_data.records.instances.instance_config import InstanceConfig

DEFAULTS = {
    "max_seq_length": 32, "dupe_factor": 2, "short_seq_prob": 0.1, "masked_lm_prob": 0.15,
    "max_predictions_per_seq": 5,
}  # fmt: skip


@pytest.fixture(scope="module")
def instances_with(small_text, small_vocabulary):
    tokenizer = tokenization.FullTokenizer(str(small_vocabulary))

    def instances(**changes: float) -> list[str]:
        made = create_training_instances(
            [str(small_text)], tokenizer, rng=random.Random(5), **{**DEFAULTS, **changes}
        )
        return list(map(str, made))

    return instances


@pytest.fixture(scope="module")
def document(checkout) -> str:
    return (checkout / "docs" / "migrating.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "where", "values", "same_as"),
    [
        ("masked_lm_prob", "above 1", (1.01, 7.0), 1),
        ("masked_lm_prob", "below 0", (-0.01, -3.0), 0),
        ("short_seq_prob", "above 1", (1.01, 7.0), 1),
        ("short_seq_prob", "below 0", (-0.01, -3.0), 0),
        ("max_predictions_per_seq", "below 0", (-1, -30), 0),
    ],
)
def test_refused_values_have_another_with_the_same_records(
    instances_with, document, name, where, values, same_as
):
    assert re.search(rf"^\| `--{name}` {where} \| {same_as}\b", document, re.MULTILINE)
    InstanceConfig(**{name: same_as})
    expected = instances_with(**{name: same_as})
    for value in values:
        assert instances_with(**{name: value}) == expected
        with pytest.raises(ValueError, match=f"{name} is {value}"):
            InstanceConfig(**{name: value})


def test_values_that_leave_nothing(instances_with, document):
    assert "| `--dupe_factor` of 0 or less | none" in document
    assert "| `--max_seq_length` of 4 or less | none" in document
    assert instances_with(dupe_factor=0) == instances_with(dupe_factor=-1) == []
    with pytest.raises((AssertionError, ValueError)):
        instances_with(max_seq_length=4)
