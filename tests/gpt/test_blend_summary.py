"""The summary of a blend has the tokens and samples that it takes of each store."""

import pytest

from bert_data.gpt import GptConfig, build_datasets
from bert_data.gpt.blend_summary import describe_parts, describe_repeats, parts_of_blend, plan_blend
from tests.gpt.stores import write_store

ARTICLE = (["A", "B", "C"], [100, 50, 400], [0.3, 0.2, 0.5], 1000)
LINES = """\
train: 1,000 samples of 128 tokens from 3 data sets, 128,000 tokens
  data set   wanted  reached     samples   per epoch   epochs           tokens
  A          30.00%   30.00%         300         100     3.00           38,400
  B          20.00%   20.00%         200          50     4.00           25,600
  C          50.00%   50.00%         500         400     1.25           64,000"""


def test_the_articles_example():
    parts = plan_blend(*ARTICLE)
    assert [(part.num_samples, part.num_epochs) for part in parts] == [
        (300, 3.0), (200, 4.0), (500, 1.25)
    ]  # fmt: skip
    assert describe_parts(parts, "train", 128) == LINES


def test_the_articles_example_with_stores(tmp_path):
    """Of 100, 50 and 400 samples: a token more than they hold, which labels the last position."""
    prefixes = [
        write_store(tmp_path / name, [range(128)] * count + [[7]])
        for name, count in zip("ABC", (100, 50, 400), strict=True)
    ]
    data_sets, _, _ = build_datasets(
        prefixes, GptConfig(seq_length=128), weights=[0.3, 0.2, 0.5], num_samples=[1000]
    )
    text = describe_parts(parts_of_blend(data_sets), "train", 128)
    lines = [line.replace(f"{tmp_path}/", "") for line in text.splitlines()]
    assert [line.split() for line in lines] == [line.split() for line in LINES.splitlines()]


def test_one_store_is_all_of_it(tmp_path):
    prefix = write_store(tmp_path / "s", [range(10)] * 3)
    data_sets, _, _ = build_datasets([prefix], GptConfig(seq_length=3), num_samples=[20])
    (part,) = parts_of_blend(data_sets)
    assert (part.wanted_share, part.reached_share, part.num_samples) == (1.0, 1.0, len(data_sets))
    assert part.num_epochs == pytest.approx(len(data_sets) * 3 / 29)
    assert "from 1 data set, " in describe_parts([part], "train", 3)


def test_repeats_are_told():
    parts = plan_blend(*ARTICLE)
    assert describe_repeats(parts, 4) == []
    (sentence,) = describe_repeats(parts, 3)
    assert sentence == (
        "B is repeated 4.00 times, more than 3: its share of 20.00% takes 200 samples of 50 an "
        "epoch"
    )
    assert len(describe_repeats(parts, 1)) == 3


@pytest.mark.parametrize(
    ("per_epoch", "sentence"),
    [
        ([100, 50], r"samples_per_epoch has 2 for 3 data set\(s\)"),
        ([100, 0, 400], "B has 0 samples per epoch; more than 0"),
        ([100, float("nan"), 400], "B has nan samples per epoch"),
    ],
)
def test_sizes_are_checked(per_epoch, sentence):
    with pytest.raises(ValueError, match=sentence):
        plan_blend(["A", "B", "C"], per_epoch, [1, 1, 1], 10)
