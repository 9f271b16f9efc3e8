"""Long copies within a shard."""

import pytest

from bert_data.curation.step import make_step
from bert_data.curation.steps.substring_duplicates import SubstringDuplicates
from tests.curation.corpora import make_documents, run_corpus_step, value_of

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
    assert verdicts[1][0].document.text == documents[1].text, "shards are apart"
    assert [value_of(verdict, "min_kept") for verdict in verdicts[0]] == [1, 4 / 54, 0, 1]


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


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"length": 0}, "length is 0; it must be a whole number >= 1"),
        ({"min_kept": 1.5}, r"min_kept is 1.5; it must be a number in \[0, 1\]"),
        ({"min_kept": -1}, r"min_kept is -1; it must be a number in \[0, 1\]"),
    ],
)
def test_mistakes_in_parameters_are_told(parameters, message):
    with pytest.raises(ValueError, match=f"step substring_duplicates: {message}"):
        make_step("substring_duplicates", parameters)
