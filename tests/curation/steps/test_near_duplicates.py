"""Near duplicates, against clusters of exact Jaccard similarity in plain Python."""

import random
import re
import unicodedata

import numpy as np
import pytest
import xxhash
from absl import logging
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document, Measured
from bert_data.curation.duplicates import lsh_buckets
from bert_data.curation.duplicates.lsh_clusters import NUM_REPRESENTATIVES
from bert_data.curation.duplicates.minhash import make_band_keys, permutations
from bert_data.curation.duplicates.normal_form import compared_words
from bert_data.curation.steps.near_duplicates import NearDuplicates, shingle_set
from tests.curation.corpora import kept_ids, make_documents, run_corpus_step, value_of
from tests.curation.duplicates.test_lsh_clusters import plain_roots
from tests.hypotheses import examples

COVERS = ("curation/duplicates/lsh_buckets",)


def shingles(text: str, size: int) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    if not words:
        return frozenset()
    size = min(size, len(words))
    return frozenset(tuple(words[i : i + size]) for i in range(len(words) - size + 1))


def similarity(one: Document, other: Document, size: int) -> float:
    sets = shingles(one.text, size), shingles(other.text, size)
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1]) if any(sets) else 0.0


def variations(seed: int, num_texts: int = 6, num_copies: int = 6) -> list[str]:
    """Texts of 60 words, and copies of each in which some words are others."""
    draw = random.Random(seed)
    texts = []
    for _ in range(num_texts):
        words = [f"w{draw.randrange(50)}" for _ in range(60)]
        for _ in range(num_copies):
            copy = list(words)
            for _ in range(draw.choice([0, 0, 1, 2, 4, 8])):
                copy[draw.randrange(60)] = f"x{draw.randrange(9)}"
            texts.append(" ".join(copy[: draw.choice([60, 60, 55, 40])]) + ".")
    return texts


# With one row a band and many bands, all pairs that have anything in common are compared.
EVERY_PAIR = {"num_bands": 100, "rows_per_band": 1}


def share(one, other):
    return len(one & other) / len(one | other)


def compare_plainly(bucket, threshold, room):
    """As `lsh_clusters` defines it: (pairs, similarities, comparisons, crowded) of a bucket."""
    groups = [{n} for n in range(len(bucket))]
    pairs, similarities, chosen, num_crowded = [], [[0.0, 0.0] for _ in bucket], [], 0
    num_compared = 0
    for member, own in enumerate(bucket):
        is_joined = False
        for other in chosen:
            group = next(group for group in groups if member in group)
            if other in group:
                continue
            value = share(own, bucket[other])
            num_compared += 1
            similarities[member] = [max(each, value) for each in similarities[member]]
            similarities[other][0] = max(similarities[other][0], value)
            if value > threshold:
                is_joined = True
                pairs.append((member, other))
                joined = group | next(group for group in groups if other in group)
                groups = [group for group in groups if not group & joined] + [joined]
        if len(bucket) <= room or not is_joined:
            if len(chosen) < room:
                chosen.append(member)
            else:
                num_crowded += 1
    return pairs, similarities, num_compared, num_crowded


def decide_plainly(documents, step: NearDuplicates, room: int):
    """(Value, id of the document kept instead or None) of each document, best first; counts."""
    sets = [
        shingle_set(compared_words(document.words), step.ngram_size).tolist()
        for document in documents
    ]
    twins = [sets.index(each) for each in sets]
    buckets: dict[tuple[int, int], list[int]] = {}
    factors = permutations(step.num_bands * step.rows_per_band)
    for number, each in enumerate(sets):
        keys, minima = np.empty(step.num_bands, np.uint64), np.empty(len(factors[0]), np.uint32)
        make_band_keys(np.array(each, np.uint64), *factors, minima, keys)
        for band, key in enumerate(keys.tolist() if each and twins[number] == number else ()):
            buckets.setdefault((band, key), []).append(number)
    pairs = [(twin, number) for number, twin in enumerate(twins) if sets[number] and twin < number]
    similarities = [[0.0, 0.0] for _ in documents]
    for best, twin in pairs:
        similarities[best][0], similarities[twin] = 1.0, [1.0, 1.0]
    counts = np.zeros(2, int)
    for bucket in {tuple(bucket) for bucket in buckets.values()}:
        more, values, *counted = compare_plainly(
            [frozenset(sets[number]) for number in bucket], step.max_similarity, room
        )
        counts += counted
        pairs += [(bucket[one], bucket[other]) for one, other in more]
        for number, each in zip(bucket, values, strict=True):
            similarities[number] = [
                max(pair) for pair in zip(similarities[number], each, strict=True)
            ]
    roots = plain_roots(pairs)
    decided = [
        (similarities[number][0], documents[roots[number]].id)
        if roots.get(number, number) < number
        else (similarities[number][1], None)
        for number in range(len(documents))
    ]
    return decided, *counts.tolist()


@pytest.mark.slow
@examples(12)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.3, 0.6, 0.8]),
    st.sampled_from([{}, {"num_bands": 6, "rows_per_band": 1}, {"num_bands": 3}]),
    st.sampled_from([2, 5, 64]),
    st.sampled_from([3_000, 30_000, 10**7]),
    st.integers(1, 5),
)
def test_clusters_and_values_are_those_of_the_definition(
    tmp_path_factory, seed, threshold, bands, room, max_bytes, num_shards
):
    """However small the tasks are, and with buckets that have more members than room."""
    texts = variations(seed)
    documents = make_documents([*texts, *random.Random(seed).sample(texts, 5), "", "!", "!"])
    step = NearDuplicates(max_similarity=threshold, ngram_size=2, **bands)
    shards = [documents[number::num_shards] for number in range(num_shards)]
    logged: list[tuple] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lsh_buckets, "NUM_REPRESENTATIVES", room)
        for level in ("info", "warning"):
            patch.setattr(logging, level, lambda _, *values: logged.append(values))
        folder = tmp_path_factory.mktemp("step")
        verdicts = run_corpus_step(step, shards, folder, max_bytes=max_bytes)
    by_id = {verdict.document.id: verdict.measured for shard in verdicts for verdict in shard}
    ranked = sorted(documents, key=rank_of)
    decided, num_compared, num_crowded = decide_plainly(ranked, step, room)
    assert [values[1] for values in logged] == [num_compared, *[num_crowded] * bool(num_crowded)]
    for document, (value, kept) in zip(ranked, decided, strict=True):
        expected = [Measured("max_similarity", value, threshold, failed=kept is not None)]
        if kept is not None:
            expected.append(Measured("duplicate_of", kept, ""))
        assert by_id[document.id] == tuple(expected)


def rank_of(document: Document) -> tuple[int, int]:
    seed = xxhash.xxh3_64_intdigest(document.source.encode())
    return -document.num_bytes, xxhash.xxh3_64_intdigest(document.id.encode(), seed)


def test_the_copy_of_the_data_set_of_priority_is_kept(tmp_path):
    text = " ".join(f"word{i}" for i in range(100))
    shards = [
        make_documents([text + " and more"], "crawl"),
        make_documents([text], "wiki"),
        make_documents([text + " and more", "of its own"], "news"),
    ]
    for priority, kept in (
        (("wiki",), "wiki/0"),
        ("wiki", "wiki/0"),
        (("news", "wiki"), "news/0"),
        ((), "crawl/0"),
    ):
        verdicts = run_corpus_step(NearDuplicates(priority=priority), shards, tmp_path)
        assert kept_ids(verdicts) == {kept, "news/1"}
    with pytest.raises(ValueError, match="priority names 'wikipedia'; the data sets are"):
        run_corpus_step(NearDuplicates(priority=("wikipedia",)), shards, tmp_path)


@pytest.mark.parametrize("unit", ["document", "paragraph"])
def test_copies_in_disguise_are_found(tmp_path, unit):
    """Curly quotes, accents of their own, soft hyphens and underscores hide no copy."""
    text = " ".join(f"it's élan{i} and_more 5-year{i}" for i in range(40))
    other = unicodedata.normalize("NFD", text.replace("'", "’").replace("more", "mo\u00adre"))
    texts = [text, other.replace("_", " ").replace("-", "\u2011"), "Another text. " * 9]
    step = NearDuplicates(unit=unit, max_similarity=0.99)
    (verdicts,) = run_corpus_step(step, [make_documents(texts)], tmp_path)
    assert sorted(len(v.document.text) > 0 and v.kept for v in verdicts) == [False, True, True]


def test_characters_are_the_words_of_chinese(tmp_path):
    text = "机器学习是人工智能的一个分支。它使计算机能够从数据中学习。" * 3
    other = text.replace("分支", "领域", 1)
    verdicts = run_corpus_step(
        NearDuplicates(), [make_documents([text, other, "今天天气很好,我们去公园散步。"])], tmp_path
    )[0]
    assert [verdict.kept for verdict in verdicts].count(False) == 1
    assert verdicts[2].kept
    characters = [re.sub(r"\W", "", each) for each in (text, other)]
    sets = [{each[i : i + 5] for i in range(len(each) - 4)} for each in characters]
    rejected = next(verdict for verdict in verdicts if not verdict.kept)
    exact = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
    assert value_of(rejected, "max_similarity") == exact


def test_case_counts_only_if_it_is_asked_for(tmp_path):
    text = " ".join(f"Word{number}" for number in range(100))
    documents = make_documents([text, text.upper()])
    for ignore_case, num_kept in ((True, 1), (False, 2)):
        step = NearDuplicates(ignore_case=ignore_case)
        assert len(kept_ids(run_corpus_step(step, [documents], tmp_path))) == num_kept


def test_documents_without_words_are_no_duplicates(tmp_path):
    texts = ["", "", " \n", "!!! ???", "!!! ???", "word", "word", "word!", "two words"]
    verdicts = run_corpus_step(NearDuplicates(), [make_documents(texts), []], tmp_path)
    assert [verdict.kept for verdict in verdicts[0]].count(False) == 2
    assert all(verdict.kept for verdict in verdicts[0][:5])


@pytest.fixture
def num_compared(caplog):
    """Returns how many pairs a step has compared, as it logs it."""
    caplog.set_level("INFO", "absl")
    return lambda: next(r.args[1] for r in caplog.records if "compared exactly" in r.msg)


@pytest.mark.slow
def test_many_likes_cost_no_quadratic_work(tmp_path, num_compared, caplog):
    """400 equal documents, and 300 that differ in a word each, beside others."""
    text = [f"word{i}" for i in range(300)]
    equal = make_documents([" ".join(text)] * 400)
    like = make_documents([" ".join([*text, f"n{i}", *text[::-1]]) for i in range(300)], "like")
    other = make_documents(["something else altogether"], "other")
    verdicts = run_corpus_step(NearDuplicates(), [equal, like, other], tmp_path)
    assert [sum(v.kept for v in shard) for shard in verdicts] == [1, 1, 1]
    assert 299 <= num_compared() < 14 * 300 and "shared a band" not in caplog.text


@pytest.mark.slow
def test_unlike_documents_of_one_bucket_are_compared_with_a_bounded_number(
    tmp_path, num_compared, caplog
):
    """800 documents of which any two share 60%: each meets at most 64 others a band."""
    common = [f"word{i}" for i in range(150)]
    texts = [" ".join([*common, *(f"n{i}x{k}" for k in range(46))]) for i in range(800)]
    verdicts = run_corpus_step(NearDuplicates(rows_per_band=1), [make_documents(texts)], tmp_path)
    assert all(verdict.kept for verdict in verdicts[0])
    assert num_compared() <= 14 * NUM_REPRESENTATIVES * len(texts)
    assert "shared a band" in caplog.text
    assert max(value_of(v, "max_similarity") for v in verdicts[0]) < 0.75


def test_a_document_of_a_million_repeated_words_is_one_shingle(tmp_path):
    texts = ["spam " * 1_000_000, "spam " * 7, "spam " * 4]
    verdicts = run_corpus_step(NearDuplicates(), [make_documents(texts)], tmp_path)[0]
    assert [verdict.kept for verdict in verdicts] == [True, False, True]


def test_what_is_planted_is_found_as_often_as_the_bands_say(tmp_path):
    """Copies at a similarity of some 0.8: the share that shares a band is 1-(1-s^8)^14."""
    draw = random.Random(5)
    documents, expected = [], 0.0
    for number in range(400):
        words = [f"w{draw.randrange(10**6)}" for _ in range(104)]
        copy = list(words)
        copy[40:52] = [f"n{k}x{number}" for k in range(12)]
        documents += make_documents([" ".join(words)], f"a{number}")
        documents += make_documents([" ".join(copy)], f"b{number}")
        s = similarity(*documents[-2:], 5)
        expected += (1 - (1 - s**8) ** 14) / 400
    step = NearDuplicates(max_similarity=0.5)
    num_removed = 800 - len(kept_ids(run_corpus_step(step, [documents], tmp_path)))
    assert 0.5 < s < 0.9
    assert num_removed / 400 == pytest.approx(expected, abs=0.09)  # 3.5 standard deviations
