"""Data sets mixed by weights and by epochs."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.steps.mix import Mix
from tests.curation.corpora import make_documents, run_corpus_step, value_of
from tests.hypotheses import examples

SIZES = {"wiki": 400, "web": 3000, "books": 50}


def corpora(sizes=SIZES):
    texts = ["word " * (1 + number % 7) for number in range(5000)]
    return [make_documents(texts[:size], name) for name, size in sizes.items()]


def taken(verdicts):
    """Copies of each document."""
    return {v.document.id: v.num_copies for shard in verdicts for v in shard}


def test_epochs(tmp_path):
    step = Mix(epochs={"wiki": 2, "web": 0.3, "books": 0})
    verdicts = run_corpus_step(step, [*corpora(), make_documents(["x"] * 9, "other")], tmp_path)
    copies = [Counter(v.num_copies for v in shard) for shard in verdicts]
    assert copies[0] == {2: 400}
    assert copies[1] == {0: pytest.approx(2100, abs=120), 1: pytest.approx(900, abs=120)}
    assert copies[2] == {0: 50}
    assert copies[3] == {1: 9}
    for verdict in verdicts[1]:
        assert verdict.kept == (value_of(verdict, "epochs") < 0.3)


@examples(10)
@given(st.randoms(use_true_random=False), st.integers(0, 2**64))
def test_what_is_drawn_depends_on_seed_and_id_alone(tmp_path_factory, random, seed):
    step = Mix(epochs={"wiki": 0.5, "web": 1.5}, seed=seed)
    documents = corpora({"wiki": 40, "web": 60})
    expected = taken(run_corpus_step(step, documents, tmp_path_factory.mktemp("step")))
    shards = []
    for each in reversed(documents):
        random.shuffle(each)
        cut = random.randrange(1, len(each))
        shards += [each[:cut], each[cut:]]
    assert taken(run_corpus_step(step, shards, tmp_path_factory.mktemp("step"))) == expected
    other = Mix(epochs={"wiki": 0.5, "web": 1.5}, seed=seed + 1)
    assert taken(run_corpus_step(other, shards, tmp_path_factory.mktemp("step"))) != expected


def test_missed_epochs_are_told():
    step = Mix(epochs={"a": 0.5, "b": 2, "c": 0})
    assert step.describe_use({}) is None
    there = {"all bytes of a": 40, "all bytes of b": 10, "all bytes of c": 9, "all bytes of d": 1}
    reached = {**there, "bytes of b": 20, "bytes of d": 1}
    assert step.describe_use({**reached, "bytes of a": 19}) is None
    assert step.describe_use({**reached, "bytes of a": 17}) == (
        "too few documents to reach these epochs of bytes: a has 0.425 instead of 0.5"
    )


@pytest.mark.parametrize("shares", [{"exponent": 1, "weights": None}, {"epochs": None}])
def test_an_entry_without_documents_is_told(shares):
    numbers = {"a": {"0": 1, "1": 1}, "b": 1, "*": {"1": 1}}
    shares = {name: numbers if value is None else value for name, value in shares.items()}
    step = Mix(**shares, bucket_field="s", bucket_bounds=(5,))
    there = {"a/0": 4, "b/0": 3}
    counted = {f"{all_}bytes of {cell}": n for cell, n in there.items() for all_ in ("all ", "")}
    field = "epochs" if "epochs" in shares else "weights"
    sentence = f"{field} names a/1, */1, of which there are no documents"
    assert step.describe_use(counted) == sentence
    more = {"all bytes of b/1": 3, "bytes of b/1": 3}
    assert step.describe_use(counted | more) == sentence.replace(", */1", "")
    more |= {"all bytes of a/1": 3, "bytes of a/1": 3}
    assert step.describe_use(counted | more) is None
