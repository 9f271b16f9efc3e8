"""Documents in larger ones, against containment in plain Python; and planted books."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Measured
from bert_data.curation.duplicates import containment
from bert_data.curation.duplicates.normal_form import compared_words
from bert_data.curation.running.presets import SOURCES, preset_steps
from bert_data.curation.steps.contained_duplicates import ContainedDuplicates
from bert_data.curation.steps.near_duplicates import shingle_set
from tests.curation.corpora import kept_ids, make_documents, run_corpus_step, value_of
from tests.curation.steps.test_near_duplicates import rank_of, variations
from tests.hypotheses import examples

COVERS = ("curation/duplicates/containment",)


def decide_plainly(documents, step: ContainedDuplicates):
    """Return (value, id of the document kept instead or None) by id; all pairs are candidates."""
    sets = {
        each.id: frozenset(shingle_set(compared_words(each.words), step.ngram_size).tolist())
        for each in documents
    }
    order = [each.id for each in sorted(documents, key=lambda d: (-len(sets[d.id]), rank_of(d)[1]))]
    values, containers = dict.fromkeys(order, 0.0), {}
    for place, name in enumerate(order):
        for larger in order[:place] if sets[name] else ():
            share = len(sets[name] & sets[larger]) / len(sets[name])
            if 2 * share >= step.max_containment and share:
                values[name] = max(values[name], share)
                if share > step.max_containment:
                    containers.setdefault(name, larger)
    roots = {}
    for name in order:
        roots[name] = roots[containers[name]] if name in containers else name
        if roots[name] != name and [*sets.values()].count(sets[name]) > 1:
            values[name] = 1.0  # it has twins
    return {name: (values[name], None if roots[name] == name else roots[name]) for name in order}


@pytest.mark.slow
@examples(8)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.3, 0.6, 0.9]),
    st.sampled_from([8_000, 10**7]),
    st.integers(1, 3),
)
def test_trees_and_values_are_those_of_the_definition(
    tmp_path_factory, seed, threshold, max_bytes, num_shards
):
    draw = random.Random(seed)
    texts = variations(seed, num_texts=3, num_copies=4)
    texts += [" ".join(draw.sample(texts, 2)) for _ in range(4)] + draw.sample(texts, 3)
    documents = make_documents([*draw.sample(texts, len(texts)), "", "!", "word"])
    step = ContainedDuplicates(max_containment=threshold, ngram_size=2)
    shards = [documents[number::num_shards] for number in range(num_shards)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containment, "SAMPLED", np.uint64(1))
        patch.setattr(containment, "NUM_LARGEST", len(documents))
        folder = tmp_path_factory.mktemp("step")
        verdicts = run_corpus_step(step, shards, folder, max_bytes=max_bytes)
    expected = decide_plainly(documents, step)
    for verdict in (verdict for shard in verdicts for verdict in shard):
        value, kept = expected[verdict.document.id]
        measured = [Measured("max_containment", value, threshold, failed=kept is not None)]
        if kept is not None:
            measured.append(Measured("duplicate_of", kept, ""))
        if 2 * value < threshold:  # twins are compared whatever they share
            assert value_of(verdict, "max_containment") in (0, value)
        else:
            assert verdict.measured == tuple(measured)


def book(draw: random.Random, num_words: int) -> list[str]:
    return [f"w{draw.randrange(20_000)}" for _ in range(num_words)]


@pytest.mark.parametrize("preset", ["books", "llama"])
def test_planted_books_are_found_with_the_presets(tmp_path, preset):
    """In an anthology, in a longer edition, with 7% of its own; but not with 15% of its own."""
    steps = preset_steps(preset, SOURCES.get(preset, ()))
    (step,) = (each for each in steps if isinstance(each, ContainedDuplicates))
    draw = random.Random(3)
    texts: list[str] = []
    for _ in range(12):
        *books, last = (book(draw, draw.randrange(1_000, 3_000)) for _ in range(5))
        part = len(last) // 100
        anthology = [word for each in books[:3] for word in each]
        edition = [*books[3], *book(draw, 300)]
        changed = [*last[: 93 * part], *book(draw, 7 * part)]
        other = [*last[: 85 * part], *book(draw, 20 * part)]
        texts += [" ".join(each) for each in (*books, last, anthology, edition, changed, other)]
    documents = make_documents(texts, "books")
    shuffled = draw.sample(documents, len(documents))
    kept = kept_ids(run_corpus_step(step, [shuffled[:40], shuffled[40:]], tmp_path))
    places = [[f"books/{first + n}" in kept for n in range(9)] for first in range(0, 108, 9)]
    for each in places:
        assert each[:4] == [False] * 4 and each[5:7] == [True, True] and each[8]
        assert each[4] != each[7]


def test_a_book_in_two_anthologies_joins_them_not(tmp_path):
    draw = random.Random(4)
    first, second, third = (book(draw, 1_000) for _ in range(3))
    texts = [" ".join(each) for each in (first, first + second, third + first)]
    (verdicts,) = run_corpus_step(ContainedDuplicates(), [make_documents(texts)], tmp_path)
    assert [verdict.kept for verdict in verdicts] == [False, True, True]


def test_of_equal_documents_that_of_the_first_data_set_stays(tmp_path):
    text = " ".join(book(random.Random(5), 200))
    shards = [make_documents([text], "crawl"), make_documents([text.upper(), "Other."], "books")]
    for priority, kept in (((), "crawl/0"), (("books",), "books/0")):
        step = ContainedDuplicates(priority=priority)
        assert kept_ids(run_corpus_step(step, shards, tmp_path)) == {kept, "books/1"}
    step = ContainedDuplicates(ignore_case=False)
    assert len(kept_ids(run_corpus_step(step, shards, tmp_path))) == 3
