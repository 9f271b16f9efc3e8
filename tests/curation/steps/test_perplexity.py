"""Documents by their perplexity."""

import random

import pytest

from bert_data.curation.steps.perplexity import Perplexity
from tests.curation.corpora import make_documents, run_corpus_step, value_of
from tests.goldens.inputs import WORDS


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "reference.txt"
    words = WORDS[:20]
    draw = random.Random(1)
    lines = [" ".join(words[(start + i) % 20] for i in range(12)) for start in range(20)]
    path.write_text("\n\n".join(draw.sample(lines * 5, 100)) + "\n")
    return str(path)


def make_texts():
    """Ten texts, from those like the reference to those that have nothing of it."""
    words, others = WORDS[:20], WORDS[50:]
    draw = random.Random(2)
    return [
        " ".join(draw.choice(others) if draw.random() < k / 9 else words[i % 20] for i in range(60))
        for k in range(10)
    ]


def test_documents_are_kept_by_percentile_whatever_the_shards(reference, tmp_path):
    step = Perplexity(reference=reference, head_percentile=20, middle_percentile=50)
    documents = make_documents(make_texts())
    verdicts = run_corpus_step(step, [documents], tmp_path)[0]
    values = [verdict.document.fields["perplexity"] for verdict in verdicts]
    assert all(value >= 1 for value in values)
    assert values[0] == min(values)
    assert sum(values[:3]) < sum(values[-3:])
    for verdict, value in zip(verdicts, values, strict=True):
        percentile = 10 * sum(other < value for other in values)
        assert value_of(verdict, "max_percentile") == pytest.approx(percentile)
        assert verdict.kept == (percentile <= 60)
        bucket = "head" if percentile < 20 else "middle" if percentile < 50 else "tail"
        assert verdict.document.fields["perplexity_bucket"] == bucket
    split = run_corpus_step(step, [documents[7:], [], documents[:7]], tmp_path)
    measured = {v.document.id: (v.measured, v.document.fields) for shard in split for v in shard}
    assert measured == {v.document.id: (v.measured, v.document.fields) for v in verdicts}


def test_a_limit_on_the_perplexity_itself(reference, tmp_path):
    documents = make_documents(make_texts())
    step = Perplexity(reference=(reference,), max_percentile=100, max_perplexity=20)
    verdicts = run_corpus_step(step, [documents], tmp_path)[0]
    kept = [verdict.kept for verdict in verdicts]
    assert kept == [value_of(verdict, "max_perplexity") <= 20 for verdict in verdicts]
    assert True in kept
    assert False in kept


def test_strange_documents(reference, tmp_path):
    documents = make_documents(["", "!", "spam " * 1_000_000, "\ud800 half", "机器学习"])
    verdicts = run_corpus_step(Perplexity(reference=reference), [documents], tmp_path)[0]
    assert all(verdict.document.fields["perplexity"] >= 1 for verdict in verdicts)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"order": 6}, r"order is 6; 2 to 5 is allowed"),
        ({"order": 4, "max_words": 32_765}, "max_words is 32765; it must be at most 32764"),
        ({"max_ngrams": 10}, "max_ngrams is 10"),
    ],
)
def test_sizes_of_the_model_are_bounded(parameters, message):
    with pytest.raises(ValueError, match=message):
        Perplexity(reference=("a.txt",), **parameters)


@pytest.mark.parametrize(
    ("text", "message"),
    [("\n\n", "the texts contain no words"), ("One word each.\n", "no word occurs twice")],
)
def test_a_reference_with_too_few_words_is_told(tmp_path, text, message):
    path = tmp_path / "empty.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"^reference .*empty.txt: {message}"):
        Perplexity(reference=str(path)).prepare(tmp_path)
