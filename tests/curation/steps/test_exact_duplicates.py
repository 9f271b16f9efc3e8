"""Documents that are the same in their normal form."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data.curation.step import make_step
from bert_data.curation.steps.exact_duplicates import ExactDuplicates
from tests.curation.corpora import kept_ids, make_documents, run_corpus_step, value_of

LIKES = ["The cat, it sat.", "the  CAT,\nit sat. ", "The cat it sat", "Ｔｈｅ cat, it sat."]


@pytest.mark.parametrize(
    ("parameters", "num_kept"),
    [
        ({}, 2),
        ({"ignore_punctuation": True}, 1),
        ({"ignore_case": False}, 3),
        ({"ignore_whitespace": False}, 3),
        ({"unicode_form": "NFC"}, 3),
        ({"unicode_form": "none", "ignore_case": False, "ignore_whitespace": False}, 4),
        ({"max_copies": 2}, 3),
    ],
)
def test_what_does_not_matter_is_a_parameter(tmp_path, parameters, num_kept):
    step = make_step("exact_duplicates", parameters)
    assert len(kept_ids(run_corpus_step(step, [make_documents(LIKES)], tmp_path))) == num_kept


def test_composed_and_decomposed_letters_are_equal_in_nfc(tmp_path):
    documents = make_documents(["caf\u00e9", "cafe\u0301"])
    for form, num_kept in (("NFC", 1), ("NFKC", 1), ("none", 2)):
        verdicts = run_corpus_step(ExactDuplicates(unicode_form=form), [documents], tmp_path)
        assert len(kept_ids(verdicts)) == num_kept


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.text("aB \u00e9", max_size=2), max_size=12), min_size=1, max_size=4),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_one_copy_is_kept_whatever_the_shards(tmp_path_factory, texts, max_copies, draw):
    corpora = [make_documents(each, f"set{number}") for number, each in enumerate(texts)]
    results = []
    for _ in range(2):
        shards = []
        for documents in corpora:
            draw.shuffle(documents)
            cut = draw.randrange(len(documents) + 1)
            shards += [shard for shard in (documents[:cut], documents[cut:]) if shard]
        step = ExactDuplicates(max_copies=max_copies)
        verdicts = run_corpus_step(step, shards or [[]], tmp_path_factory.mktemp("step"))
        results.append({v.document.id: v for shard in verdicts for v in shard})
    assert {i: v.measured for i, v in results[0].items()} == {
        i: v.measured for i, v in results[1].items()
    }
    groups: dict[str, list] = {}
    for verdict in results[0].values():
        normal = " ".join(verdict.document.text.lower().split())
        groups.setdefault(normal, []).append(verdict)
    for group in groups.values():
        group.sort(key=lambda verdict: value_of(verdict, "max_copies"))
        assert [value_of(v, "max_copies") for v in group] == list(range(1, len(group) + 1))
        assert [v.kept for v in group] == [n < max_copies for n in range(len(group))]
        order = [(v.document.source, -v.document.num_bytes) for v in group]
        assert order == sorted(order)
        for verdict in group[max_copies:]:
            assert value_of(verdict, "duplicate_of") == group[0].document.id


def test_ten_thousand_equal_documents(tmp_path):
    texts = ["the same"] * 10_000 + [""] * 3
    random.Random(1).shuffle(texts)
    verdicts = run_corpus_step(ExactDuplicates(), [make_documents(texts)], tmp_path)
    assert len(kept_ids(verdicts)) == 2
