"""Near duplicates of paragraphs, lines and sentences, against all pairs of them in plain Python."""

import itertools
import random
import re

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.steps.near_duplicates import NearDuplicates
from tests.curation.corpora import make_documents, run_corpus_step, value_of
from tests.curation.duplicates.test_lsh_clusters import plain_roots
from tests.curation.steps.test_near_duplicates import EVERY_PAIR, shingles
from tests.hypotheses import examples

SEPARATORS = {"paragraph": "\n\n", "line": "\n", "sentence": " "}


def split_plainly(text: str, unit: str) -> list[str]:
    return re.split(rf"(?<=\.){SEPARATORS[unit]}", text)


def make_texts(seed: int, separator: str) -> list[str]:
    """Texts of units, many of which are alike; each unit is a sentence."""
    draw = random.Random(seed)
    bases = [[f"w{draw.randrange(30)}" for _ in range(12)] for _ in range(5)]
    texts = []
    for _ in range(draw.randrange(2, 8)):
        units = []
        for _ in range(draw.randrange(1, 6)):
            words = list(draw.choice(bases))[: draw.choice([12, 12, 12, 9, 3])]
            for _ in range(draw.choice([0, 0, 1, 2, 4])):
                words[draw.randrange(len(words))] = f"x{draw.randrange(9)}"
            units.append(f"The {' '.join(words)}.")
        texts.append(separator.join(units))
    return texts


def similarity(one: str, other: str, size: int) -> float:
    sets = shingles(one.lower(), size), shingles(other.lower(), size)
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def decide_plainly(documents, step: NearDuplicates, levels: dict[str, int]) -> dict[str, list[str]]:
    """The units that are left of each document, by its id."""
    units = []
    for document in documents:
        seed = xxhash.xxh3_64_intdigest(document.source.encode())
        tie = xxhash.xxh3_64_intdigest(document.id.encode(), seed)
        for place, text in enumerate(split_plainly(document.text, step.unit)):
            rank = levels[document.source], -len(text), tie, place
            units.append((rank, document.id, place, text))
    units.sort()
    pairs = [
        (one, other)
        for one, other in itertools.combinations(range(len(units)), 2)
        if all(len(re.findall(r"\w+", units[k][3])) >= step.shortest for k in (one, other))
        and similarity(units[one][3], units[other][3], step.ngram_size) > step.max_similarity
    ]
    roots = plain_roots(pairs)
    left = {document.id: [] for document in documents}
    for number, (_, name, place, text) in enumerate(units):
        if roots.get(number, number) == number:
            left[name].append((place, text))
    return {name: [text for _, text in sorted(kept)] for name, kept in left.items()}


@pytest.mark.slow
@examples(10)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["paragraph", "line", "sentence"]),
    st.sampled_from([0.2, 0.5, 0.75]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 5, 10]),
    st.sampled_from([30_000, 10**9]),
    st.integers(1, 3),
)
def test_units_left_are_those_of_all_pairs(
    tmp_path_factory, seed, unit, threshold, size, shortest, max_bytes, num_shards
):
    parameters = {"max_similarity": threshold, "ngram_size": size, "shortest": shortest}
    step = NearDuplicates(unit=unit, priority=("wiki",), **parameters, **EVERY_PAIR)
    texts = make_texts(seed, SEPARATORS[unit])
    shards = [make_documents(texts[n::num_shards], f"crawl{n}") for n in range(num_shards)]
    shards = [
        *filter(None, shards),
        [],
        make_documents(make_texts(seed + 1, SEPARATORS[unit]), "wiki"),
    ]
    documents = list(itertools.chain(*shards))
    sources = dict.fromkeys(["wiki", *(d.source for d in documents)])
    levels = {source: level for level, source in enumerate(sources)}
    folder = tmp_path_factory.mktemp("step")
    verdicts = run_corpus_step(step, shards, folder, max_bytes=max_bytes, first=7)
    expected = decide_plainly(documents, step, levels)
    for document, verdict in zip(documents, itertools.chain(*verdicts), strict=True):
        left, num_before = expected[document.id], len(split_plainly(document.text, unit))
        num_words = [len(re.findall(r"\w+|\.", text)) for text in (" ".join(left), document.text)]
        assert verdict.document.text == SEPARATORS[unit].join(left)
        assert value_of(verdict, "min_kept") == num_words[0] / num_words[1]
        num_cut = num_before - len(left)
        assert verdict.edits == ({f"{unit}s": num_cut} if num_cut else {})


def test_units_within_one_document_and_short_ones(tmp_path):
    notice = "Subscribe to our free weekly letter, and read it on any machine that you own."
    nearly = "SUBSCRIBE to our free weekly letter and read it on any machine that you own!"
    texts = [
        f"First.\n\n{notice}\n\nThank you.\n\n{nearly}\n\nLast.",
        f"Another.\n\n{nearly}\n\nThank you.",
        nearly,
    ]
    step = NearDuplicates(unit="paragraph", priority=("b",))
    shards = [make_documents(texts[:2], "a"), make_documents(texts[2:], "b")]
    verdicts = run_corpus_step(step, shards, tmp_path)
    assert [v.document.text for shard in verdicts for v in shard] == [
        "First.\n\nThank you.\n\nLast.",
        "Another.\n\nThank you.",
        nearly,
    ]


def test_chinese_sentences(tmp_path):
    shared = "机器学习是人工智能的一个重要分支，它使计算机能够从大量数据中学习规律。"
    texts = [
        f"今天天气很好。{shared}我们去公园。",
        f"{shared.replace('重要', '主要')}明天下雨。好。",
    ]
    step = NearDuplicates(unit="sentence", max_similarity=0.5)
    (verdicts,) = run_corpus_step(step, [make_documents(texts)], tmp_path)
    lost = [v.document.text for v in verdicts]
    assert sorted(lost, key=len) in (
        ["明天下雨。好。", texts[0]],
        ["今天天气很好。我们去公园。", texts[1]],
    )


def test_nothing_to_compare(tmp_path):
    for unit in ("paragraph", "line", "sentence"):
        step = NearDuplicates(unit=unit)
        shards = [make_documents(["", "! ?", "Short.", "\n\n"]), []]
        verdicts = run_corpus_step(step, shards, tmp_path)
        assert [v.document.text for v in verdicts[0]] == ["", "! ?", "Short.", "\n\n"]


def test_a_document_of_a_million_equal_lines(tmp_path):
    line = "the same line of ten words or more in every place\n"
    verdicts = run_corpus_step(
        NearDuplicates(unit="line"), [make_documents([line * 20_000, line * 3])], tmp_path
    )[0]
    assert sorted(v.document.text for v in verdicts) == ["", line.strip()]
