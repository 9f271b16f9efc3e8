"""Long copies, within a document and anywhere else, against looking for them one by one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.steps import substring_duplicates
from bert_data.curation.steps.substring_duplicates import SubstringDuplicates
from tests.curation.corpora import make_documents, run_corpus_step, value_of
from tests.hypotheses import examples

NOTICE = " ".join(f"notice{i}" for i in range(50))


def test_the_first_copy_stays(tmp_path):
    documents = make_documents(
        [
            f"One text.\n{NOTICE}\nIts end.",
            f"Another {NOTICE}\n\nwith more.",
            NOTICE,
            NOTICE.rsplit(" ", 1)[0],
        ]
    )
    verdicts = run_corpus_step(SubstringDuplicates(), [documents, documents[1:2]], tmp_path)
    texts = [verdict.document.text for verdict in verdicts[0]]
    assert texts == [documents[0].text, "Another\n\nwith more.", "", documents[3].text]
    assert [verdict.edits for verdict in verdicts[0]] == [{}, *[{"runs of words": 1}] * 2, {}]
    assert verdicts[1][0].document.text == "", "shards do not matter"
    assert [value_of(verdict, "min_kept") for verdict in verdicts[0]] == [1, 4 / 54, 0, 1]


def marked_plainly(texts: list[list[int]], length: int) -> list[list[bool]]:
    """Whether each word belongs to a run that an equal one ended before, in the same order."""
    places = [
        (number, place)
        for number, text in enumerate(texts)
        for place in range(len(text) - length + 1)
    ]
    marked = [[False] * len(text) for text in texts]
    for (number, place), (other, later) in itertools.combinations(places, 2):
        is_after = number != other or place + length <= later
        run = texts[number][place : place + length]
        if is_after and run == texts[other][later : later + length]:
            marked[other][later : later + length] = [True] * length
    return marked


@examples(30)
@given(
    st.lists(st.lists(st.integers(0, 2), max_size=16), max_size=8),
    st.integers(1, 7),
    st.lists(st.integers(0, 8), max_size=3),
    st.integers(1, 40),
)
def test_all_words_of_copies_are_removed(tmp_path_factory, texts, length, cuts, portion):
    documents = make_documents([" ".join(map(str, text)) for text in texts])
    bounds = [0, *sorted(cuts), len(documents)]
    shards = [documents[begin:end] for begin, end in itertools.pairwise(bounds)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(substring_duplicates, "WORDS_AT_A_TIME", portion)
        folder = tmp_path_factory.mktemp("run")
        step = SubstringDuplicates(length=length)
        verdicts = run_corpus_step(step, shards, folder, max_bytes=512)
    left = [verdict.document.text for shard in verdicts for verdict in shard]
    expected = [
        " ".join(str(w) for w, is_copy in zip(text, marked, strict=True) if not is_copy)
        for text, marked in zip(texts, marked_plainly(texts, length), strict=True)
    ]
    assert left == expected


def test_many_repeated_words_leave_one_run(tmp_path):
    documents = make_documents(["a " * 300_000])
    [[verdict]] = run_corpus_step(SubstringDuplicates(), [documents], tmp_path)
    assert verdict.document.text == " ".join("a" * 50)


def test_what_is_nearly_all_a_copy_is_rejected_whole(tmp_path):
    documents = make_documents([NOTICE, f"{NOTICE} more"])
    verdicts = run_corpus_step(SubstringDuplicates(min_kept=0.1), [documents], tmp_path)[0]
    assert [verdict.kept for verdict in verdicts] == [True, False]
    assert verdicts[1].document.text == documents[1].text


def test_documents_without_words_and_shards_without_documents(tmp_path):
    shards = [make_documents(["", " ", "word", "word"]), []]
    verdicts = run_corpus_step(SubstringDuplicates(), shards, tmp_path)
    assert all(verdict.kept for verdict in verdicts[0])
    texts = [
        v.document.text for v in run_corpus_step(SubstringDuplicates(length=1), shards, tmp_path)[0]
    ]
    assert texts == ["", " ", "word", ""]
