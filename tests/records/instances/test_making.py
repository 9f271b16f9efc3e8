"""Instances against the oracle, for random corpora, seeds and flags."""

import functools
import io
import tempfile
from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.records.instances import making
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.instances.making import InstanceCounts, make_instances
from bert_data.records.instances.rows import decode_row
from bert_data.records.masking.rule import Shown
from bert_data.records.objectives import OBJECTIVES
from tests.hypotheses import examples
from tests.records.corpora import TOKENS, documents, large_vocabulary, store_of, vocabulary_of
from tests.records.oracle import Document, Drawn, OfText, instances_of

COVERS = ("records/instances/instance_config", "records/instances/making_rows")


VOCABULARY = vocabulary_of(TOKENS)
LARGE_VOCABULARY = large_vocabulary()
PROBABILITIES = st.one_of(st.sampled_from([0.0, 1.0, 0.15, 0.5]), st.floats(0, 1))
MASKINGS = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {
            "masking": st.just("ngrams"),
            "max_ngram": st.integers(1, 10),
            "favor_shorter_ngrams": st.booleans(),
        }
    ),
    st.just({"masking": "spans"}),
)


def configured(masking, **settings) -> InstanceConfig:
    return InstanceConfig(**masking, **settings)


CONFIGS = st.builds(
    configured,
    MASKINGS,
    max_seq_length=st.integers(5, 64),
    max_predictions_per_seq=st.integers(0, 20),
    random_seed=st.integers(),
    dupe_factor=st.integers(1, 3),
    masked_lm_prob=PROBABILITIES,
    short_seq_prob=PROBABILITIES,
    do_whole_word_mask=st.booleans(),
    next_sentence=st.sampled_from(sorted(OBJECTIVES)),
)


class Spool(io.BytesIO):
    name = "spool"


def make_rows_of(store, vocabulary, config, *, rows_bytes: int = 2 << 20):
    """The library's (Instances, the rows in its spool).

    With small pieces of rows the store, too, is let go of between them.
    """
    spool = Spool()
    with mock.patch.object(making, "_ROWS_BYTES", rows_bytes):
        spooled = make_instances(
            store, vocabulary, config, spool, max_store_bytes=rows_bytes // 100
        )
    rows = np.frombuffer(spool.getvalue(), np.uint32).reshape(-1, spooled.num_words)
    assert len(rows) == spooled.order.size == spooled.counts.num_instances
    return spooled, rows


def make(corpus: list[Document], vocabulary, config, **options):
    """The library's (Instances, the list of them in the order of the records)."""
    with tempfile.TemporaryDirectory() as folder:
        store = store_of(corpus, vocabulary, folder)
    spooled, rows = make_rows_of(store, vocabulary, config, **options)
    return spooled, [decode_row(rows[i], store.ids, vocabulary) for i in spooled.order]


def assert_equal_to_the_oracle(corpus, vocabulary, config, **options) -> None:
    spooled, instances = make(corpus, vocabulary, config, **options)
    tally: Counter[type] = Counter()
    expected = instances_of(corpus, vocabulary, config, tally)
    assert instances == expected
    counts = spooled.counts
    num_labelled = sum(bool(instance.label) for instance in expected)
    assert counts.num_random_next + (counts.num_swapped or 0) == num_labelled
    assert (counts.num_swapped is None) == (config.next_sentence != "sop")
    assert counts == InstanceCounts(
        num_instances=len(expected),
        num_random_next=counts.num_random_next,
        num_swapped=counts.num_swapped,
        num_tokens=sum(len(instance.ids) for instance in expected),
        num_masked=tally[str],
        num_kept=tally[OfText],
        num_replaced=tally[Drawn],
    )


@pytest.mark.slow
@examples(250)
@given(documents(VOCABULARY), CONFIGS, st.sampled_from([1, 100, 1000, 2 << 20]))
@example([[[5]]], InstanceConfig(max_seq_length=5), 1)
@example([[[8] * 30, [8]]], InstanceConfig(do_whole_word_mask=True), 1)
def test_instances_are_the_oracles(corpus, config, rows_bytes):
    assert_equal_to_the_oracle(corpus, VOCABULARY, config, rows_bytes=rows_bytes)


@pytest.mark.slow
@pytest.mark.parametrize("masking", ["ngrams", "spans"])
def test_long_instances_draw_more_sizes_than_are_made_in_advance(masking):
    corpus = [[[5 + (i * i) % 11 for i in range(n)]] for n in (9_000, 130, 7_000, 9_000)]
    config = InstanceConfig(
        max_seq_length=9_000, max_predictions_per_seq=9_000, masked_lm_prob=0.9, masking=masking
    )
    assert_equal_to_the_oracle(corpus, VOCABULARY, config)


@pytest.mark.slow
@examples(8)
@given(documents(LARGE_VOCABULARY), CONFIGS)
def test_instances_with_ids_of_more_than_16_bits(corpus, config):
    assert_equal_to_the_oracle(corpus, LARGE_VOCABULARY, config)


@examples(20)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=4), st.integers(1, 3), CONFIGS)
def test_sentences_much_longer_than_an_instance(lengths, num_documents, config):
    sentences = [[5 + i % 11 for i in range(length)] for length in lengths]
    corpus = [sentences[i::num_documents] for i in range(num_documents)]
    assert_equal_to_the_oracle([d for d in corpus if d], VOCABULARY, config)


@pytest.mark.slow
def test_truncation_draws_more_than_all_the_outputs_made_in_advance():
    long = [6 + i % 9 for i in range(25_000)]
    corpus = [[long, [7]], [[8], long]]
    config = InstanceConfig(max_seq_length=16, dupe_factor=2, random_seed=-1)
    assert_equal_to_the_oracle(corpus, VOCABULARY, config)


def test_one_document_takes_its_random_next_sentences_from_itself():
    corpus = [[[5, 6], [9], [10, 13, 15]]]
    assert_equal_to_the_oracle(corpus, VOCABULARY, InstanceConfig(max_seq_length=8, dupe_factor=40))


@pytest.mark.slow
def test_many_documents_and_long_instances():
    corpus = [
        [[5 + (d * s) % 11] * (1 + s * d % 17) for s in range(1, 2 + d % 5)] for d in range(400)
    ]
    config = InstanceConfig(max_seq_length=512, max_predictions_per_seq=600, masked_lm_prob=0.9)
    assert_equal_to_the_oracle(corpus, VOCABULARY, config, rows_bytes=5000)


@pytest.mark.parametrize("masking", ["tokens", "ngrams", "spans"])
def test_shares_of_what_is_shown_are_settings_of_the_rule(masking):
    corpus = [[[5 + i % 11 for i in range(50)], [9] * 5]] * 3
    shown = Shown(mask=0.0, random=0.0, keep=1.0)
    kept = functools.partial(making.masking_rule, shown=shown)
    with mock.patch.object(making, "masking_rule", kept):
        spooled, instances = make(corpus, VOCABULARY, InstanceConfig(masking=masking))
    assert spooled.counts.num_kept == sum(len(each.masked_ids) for each in instances) > 0
    assert spooled.counts.num_masked == spooled.counts.num_replaced == 0


def test_passes_differ_and_seeds_differ():
    corpus = [[[5 + i % 11 for i in range(20)], [9] * 5]] * 3
    _, once = make(corpus, VOCABULARY, InstanceConfig(dupe_factor=1))
    _, twice = make(corpus, VOCABULARY, InstanceConfig(dupe_factor=2))
    _, other = make(corpus, VOCABULARY, InstanceConfig(dupe_factor=1, random_seed=54321))
    assert len(set(twice)) > len(set(once))
    assert set(once) != set(other)


def test_halves_in_the_other_order_are_labelled_and_lone_sentences_get_another_document():
    first, last, lone, other = [5] * 4, [6] * 4, [8] * 4, [9] * 4
    config = InstanceConfig(
        max_seq_length=11, dupe_factor=50, masked_lm_prob=0, max_predictions_per_seq=0,
        short_seq_prob=0, next_sentence="sop",
    )  # fmt: skip
    spooled, instances = make([[first, last], [lone], [other]], VOCABULARY, config)
    cls, sep = VOCABULARY.cls_id, VOCABULARY.sep_id
    seen = Counter()
    for instance in instances:
        assert instance.segment_ids == (0,) * 6 + (1,) * 5
        assert (instance.ids[0], instance.ids[5], instance.ids[10]) == (cls, sep, sep)
        seen[instance.ids[1], instance.ids[6], instance.label] += 1
    assert seen[5, 6, False] + seen[6, 5, True] == 50
    assert seen[6, 5, True] == spooled.counts.num_swapped
    assert 10 < spooled.counts.num_swapped < 40
    pairs = {pair for pair in seen if pair[0] in (8, 9)}
    assert pairs == {(a, b, True) for a in (8, 9) for b in (5, 6, 8, 9) if a != b}
    assert spooled.counts.num_random_next == 100


def test_full_sentences_fill_one_segment_and_a_long_one_goes_on():
    document = [[5] * 3, [6] * 4, [8] * 2, [9] * 25, [10] * 2]
    config = InstanceConfig(
        max_seq_length=12, dupe_factor=1, max_predictions_per_seq=0, short_seq_prob=0,
        next_sentence="none",
    )  # fmt: skip
    spooled, instances = make([document], VOCABULARY, config)
    cls, sep = VOCABULARY.cls_id, VOCABULARY.sep_id
    texts = [[5] * 3 + [6] * 4 + [8] * 2, [9] * 10, [9] * 10, [9] * 5 + [10] * 2]
    expected = sorted((cls, *text, sep) for text in texts)
    assert sorted(instance.ids for instance in instances) == expected
    assert {instance.label for instance in instances} == {None}
    assert {i for instance in instances for i in instance.segment_ids} == {0}
    assert spooled.counts.num_random_next == 0


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"max_ngram": 2}, "max_ngram is 2; it needs `masking=ngrams`"),
        (
            {"favor_shorter_ngrams": False},
            "favor_shorter_ngrams is False; it needs `masking=ngrams`",
        ),
    ],
)
def test_settings_out_of_range(changes, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        InstanceConfig(**changes)


def test_a_vocabulary_and_a_length_that_do_not_fit_a_row_together():
    with pytest.raises(
        ValueError, match="max_seq_length 65535 with a vocabulary of 65,552 entries"
    ):
        make([[[5]]], LARGE_VOCABULARY, InstanceConfig(max_seq_length=65_535))
    fits = InstanceConfig(max_seq_length=32_768, dupe_factor=1, short_seq_prob=0)
    assert_equal_to_the_oracle([[[65_540] * 40_000, [9]]], LARGE_VOCABULARY, fits)
