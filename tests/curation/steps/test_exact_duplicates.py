"""Documents that are the same in their normal form."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.running.presets import preset_steps
from bert_data.curation.step import make_step
from bert_data.curation.steps.exact_duplicates import ExactDuplicates, LineDuplicates
from tests.curation.corpora import kept_ids, make_documents, run_corpus_step, value_of
from tests.hypotheses import examples

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


@pytest.mark.parametrize(("preset", "data_set"), [("code", "web"), ("llama", "github")])
def test_code_that_differs_in_indentation_or_case_is_not_equal(tmp_path, preset, data_set):
    steps = preset_steps(preset, [data_set])
    step = next(step for step in steps if step.name == "exact_duplicates")
    files = ["if a:\n    b()\nc()", "if a:\n    b()\n    c()", "if A:\n    b()\nc()"]
    documents = make_documents([*files, files[0]], source=data_set)
    assert len(kept_ids(run_corpus_step(step, [documents], tmp_path))) == 3


STORY = "the miller went to the town and sold his flour to the baker of the king today"
COPIES = [STORY, f"{STORY}.", f"{STORY} again", "Another text.", f"{STORY}  ", "Another  text."]


@pytest.mark.parametrize(("cut", "max_bytes"), [(0, 10**9), (1, 2000), (4, 10**9)])
@pytest.mark.parametrize(
    ("name", "parameters", "copies"),
    [
        ("exact_duplicates", {}, [1, 1, 0, 0]),
        ("exact_duplicates", {"max_copies": 2, "ignore_punctuation": True}, [1, 0, 0, 0, 0]),
        ("near_duplicates", {"max_similarity": 0.5, "ngram_size": 2}, [3, 1]),
        ("contained_duplicates", {"max_containment": 0.9, "ngram_size": 2}, [3, 1]),
        ("near_duplicates", {"unit": "line", "shortest": 2}, [3, 1, 0, 0, 0, 0]),
        ("line_duplicates", {}, [2, 1, 0, 0, 0, 0]),
        ("line_duplicates", {"unit": "paragraph", "max_documents": 2}, [1, 0, 0, 0, 0, 0]),
        ("line_duplicates", {"keep": "none"}, [0, 0, 0, 0, 0, 0]),
    ],
)
def test_kept_documents_say_how_many_copies_were_removed_for_them(
    tmp_path, cut, max_bytes, name, parameters, copies
):
    documents = make_documents(COPIES)
    step = make_step(name, {**parameters, "copies_field": "copies"})
    shards = run_corpus_step(
        step, [documents[:cut], documents[cut:]], tmp_path, max_bytes=max_bytes
    )
    verdicts = [verdict for shard in shards for verdict in shard]
    kept = {each.document.id: each.document.fields["copies"] for each in verdicts if each.kept}
    assert sorted(kept.values(), reverse=True) == copies
    if len(kept) < len(verdicts) and "max_copies" not in parameters:
        removed = [value_of(each, "duplicate_of") for each in verdicts if not each.kept]
        assert kept == {name: removed.count(name) for name in kept}


@pytest.mark.slow
@examples(30)
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


lines = st.sampled_from(["Home", "home!", "About 12", "about 99", "", " ", "...", "x", "One. Two."])
texts = st.lists(st.lists(lines, max_size=6).map("\n".join), max_size=8)


def normal(line: str) -> str:
    line = "".join(char for char in line.lower() if char not in string.punctuation)
    return " ".join(re.sub(r"\d", "0", line).split())


def plainly(documents, max_documents, num_kept, separator):
    """Documents are best first."""
    owners: dict[str, list[int]] = {}
    for number, document in enumerate(documents):
        for line in dict.fromkeys(map(normal, re.split(separator, document.text))):
            owners.setdefault(line, []).append(number)
    cut = {
        (number, line)
        for line, numbers in owners.items()
        if line and len(numbers) > max_documents
        for number in numbers[num_kept:]
    }
    return [
        [u for u in re.split(separator, d.text) if (number, normal(u)) not in cut]
        for number, d in enumerate(documents)
    ]


@pytest.mark.slow
@examples(60)
@given(
    st.lists(texts, min_size=1, max_size=3),
    st.integers(1, 3),
    st.sampled_from(["first", "none"]),
    st.sampled_from(["line", "paragraph"]),
    st.integers(1, 30),
    st.randoms(use_true_random=False),
)
def test_lines_of_several_documents_are_cut(
    tmp_path_factory, corpora, max_documents, keep, unit, at_a_time, draw
):
    sets = [make_documents(each, f"set{n}") for n, each in enumerate(corpora) if each]
    shards = []
    for documents in sets:
        draw.shuffle(documents)
        cut = draw.randrange(len(documents))
        shards += [part for part in (documents[:cut], documents[cut:]) if part]
    step = LineDuplicates(max_documents=max_documents, keep=keep, unit=unit)
    folder = tmp_path_factory.mktemp("step")
    verdicts = run_corpus_step(step, shards or [[]], folder, max_bytes=100 * at_a_time)
    ranked = sorted(
        (v for shard in verdicts for v in shard), key=lambda v: rank_of(v.document.id, sets)
    )
    originals = {each.id: each for documents in sets for each in documents}
    before = [originals[verdict.document.id] for verdict in ranked]
    separator = "\n" if unit == "line" else r"\n(?:[^\S\n]*\n)+"
    num_kept = max_documents if keep == "first" else 0
    after = plainly(before, max_documents, num_kept, separator)
    for document, verdict, units in zip(before, ranked, after, strict=True):
        num_cut = len(re.split(separator, document.text)) - len(units)
        glue = "\n" if unit == "line" else "\n\n"
        assert verdict.document.text == (glue.join(units) if num_cut else document.text)
        assert verdict.edits == ({f"{unit}s": num_cut} if num_cut else {})


def rank_of(name, sets):
    """The order of documents, by their ranks."""
    import xxhash

    for level, documents in enumerate(sets):
        for document in documents:
            if document.id == name:
                seed = xxhash.xxh3_64_intdigest(document.source.encode())
                tie = xxhash.xxh3_64_intdigest(name.encode(), seed)
                return level, -document.num_bytes, tie
    raise AssertionError


def test_a_document_of_too_many_duplicates_is_rejected(tmp_path):
    menu = "Home\nAbout\nContact"
    documents = make_documents([menu + "\nA text of its own, and longer.", menu + "\nShort."])
    verdicts = run_corpus_step(LineDuplicates(min_kept=0.5), [documents], tmp_path)[0]
    assert [verdict.kept for verdict in verdicts] == [True, False]
    assert verdicts[1].document.text == documents[1].text
    assert value_of(verdicts[1], "min_kept") == len("Short.") / len(documents[1].text)


def test_short_lines_are_left_alone(tmp_path):
    documents = make_documents(["}\nreturn\nlonger, one", "}\nreturn\nanother, two"])
    verdicts = run_corpus_step(LineDuplicates(shortest=7), [documents], tmp_path)[0]
    assert [v.document.text for v in verdicts] == [each.text for each in documents]
    verdicts = run_corpus_step(LineDuplicates(shortest=6), [documents], tmp_path)[0]
    assert sorted(len(v.document.text.split("\n")) for v in verdicts) == [2, 3]


def test_many_equal_lines_and_documents(tmp_path):
    documents = make_documents(["the same line\n" * 100 + f"line of letter {i}" for i in "abc"])
    documents += make_documents(["the same line"] * 10_000, "other")
    shards = [documents[:3], documents[3:]]
    verdicts = run_corpus_step(LineDuplicates(), shards, tmp_path)
    texts = [v.document.text for shard in verdicts for v in shard]
    assert sum("the same line" in text for text in texts) == 1
    assert sum("the same line\n" * 100 in text for text in texts) == 1
    assert texts.count("") == 10_000
