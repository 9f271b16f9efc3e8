"""Documents that share n-grams with evaluation sets."""

import pyarrow
import pytest
from pyarrow import parquet

from bert_data.curation.document import Document
from bert_data.curation.steps.decontaminate import Decontaminate
from tests.curation.corpora import make_documents, value_of, write_rows

QUESTION = "Which of these rivers flows through the largest number of countries in Europe today"


@pytest.fixture
def exams(tmp_path):
    rows = [{"text": QUESTION, "answer": "the Danube"}, {"text": "Too short", "answer": "x"}]
    return str(write_rows(tmp_path / "exams.jsonl", rows))


def judge_all(step, texts, folder):
    folder.mkdir()
    step.prepare(folder)
    judge = step.open(folder)
    return [judge(document) for document in make_documents(texts)]


def test_documents_with_a_shared_ngram_are_dropped(exams, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("A text that nobody has ever put into any corpus of the whole wide world.\n")
    step = Decontaminate(evaluation_sets=(exams, str(other)))
    inside = f"Quiz: WHICH of these ({QUESTION[15:]}? Say it."
    texts = [inside, QUESTION.replace("largest", "greatest"), "", QUESTION]
    verdicts = judge_all(step, texts, tmp_path / "own")
    assert [verdict.kept for verdict in verdicts] == [False, True, True, False]
    matched = next(m for m in verdicts[0].measured if m.rule == "matched_ngram")
    assert matched.value == inside[6:].split(" today")[0]
    assert matched.threshold == exams
    assert value_of(verdicts[0], "max_overlap") == 14 / 17
    assert value_of(verdicts[1], "max_overlap") == 0
    assert verdicts[0].counted == {f"n-grams of {exams}": 2}
    counted = {key: count for verdict in verdicts for key, count in verdict.counted.items()}
    assert step.describe_use(counted) == f"no document shares 13 words with {other}"
    assert step.describe_use({**counted, f"n-grams of {other}": 1}) is None


def test_the_ledger_names_ten_of_many_sets_with_a_match(tmp_path):
    paths = [tmp_path / f"set-{number:02d}.txt" for number in range(12)]
    for path in paths:
        path.write_text(QUESTION)
    step = Decontaminate(evaluation_sets=(str(tmp_path / "set-*.txt"),), ngram_size=14)
    verdict = judge_all(step, [QUESTION], tmp_path / "own")[0]
    matched = next(m for m in verdict.measured if m.rule == "matched_ngram")
    assert matched.threshold == f"{', '.join(map(str, paths[:10]))} and 2 more"
    assert verdict.counted == {f"n-grams of {path}": 1 for path in paths}


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace(" ", "_"),
        lambda text: text.replace("e", "e\u200b"),
        lambda text: text.replace("es", "e\u00ads"),
        lambda text: "".join(chr(ord(c) + 0xFEE0) if c != " " else "\u3000" for c in text),
    ],
)
def test_disguised_questions_are_found_and_cut_where_they_are(exams, tmp_path, disguise):
    hidden = disguise(QUESTION)
    text = f"{'before ' * 9}{hidden}{' after' * 9}"
    (verdict,) = judge_all(Decontaminate(evaluation_sets=(exams,)), [text], tmp_path / "own")
    assert not verdict.kept
    matched = next(m for m in verdict.measured if m.rule == "matched_ngram")
    assert hidden.startswith(matched.value) and len(matched.value) > 60
    cut = Decontaminate(evaluation_sets=(exams,), action="cut", margin=0, shortest_piece=1)
    (verdict,) = judge_all(cut, [text], tmp_path / "cut")
    assert verdict.document.text == f"{('before ' * 9).strip()}\n{('after ' * 9).strip()}"


def test_a_share_of_matches_may_be_allowed(exams, tmp_path):
    step = Decontaminate(evaluation_sets=(exams,), max_overlap=0.5)
    verdicts = judge_all(step, [QUESTION, f"{QUESTION} {'more ' * 14}"], tmp_path / "own")
    assert [verdict.kept for verdict in verdicts] == [False, True]
    assert value_of(verdicts[1], "max_overlap") == 0.5


def test_matches_are_cut_out_with_their_margins(exams, tmp_path):
    before, behind = "long " * 30, " words" * 30
    step = Decontaminate(
        evaluation_sets=(exams,), action="cut", margin=12, shortest_piece=20, max_pieces=2
    )
    texts = [
        f"{before}{QUESTION}{behind}",
        f"{before}{QUESTION}",
        f"{QUESTION} {QUESTION}",
        f"{before}{QUESTION}{behind} {QUESTION} {before}",
    ]
    verdicts = judge_all(step, texts, tmp_path / "own")
    assert [dict(verdict.edits) for verdict in verdicts] == [{"matches": n} for n in (1, 1, 1, 2)]
    assert [verdict.kept for verdict in verdicts] == [True, True, True, False]
    left = verdicts[0].document.text.split("\n")
    assert left == [("long " * 27).strip(), ("words " * 28).strip()]
    assert verdicts[1].document.text == ("long " * 27).strip()
    assert verdicts[2].document.text == ""
    assert value_of(verdicts[3], "max_pieces") == 3


def test_other_fields_can_be_looked_for(exams, tmp_path):
    step = Decontaminate(evaluation_sets=(exams,), text_fields=("text", "answer"), ngram_size=2)
    verdicts = judge_all(step, ["It is the Danube.", "It is the Rhine."], tmp_path / "own")
    assert [verdict.kept for verdict in verdicts] == [False, True]


def test_sets_of_different_fields(exams, tmp_path):
    other = tmp_path / "other.parquet"
    parquet.write_table(pyarrow.table({"question": [QUESTION.upper(), None]}), other)
    fields = ("text", "question")
    step = Decontaminate(evaluation_sets=(exams, str(other)), text_fields=fields)
    verdict = judge_all(step, [QUESTION], tmp_path / "own")[0]
    assert verdict.counted == {f"n-grams of {exams}": 2, f"n-grams of {other}": 2}
    step = Decontaminate(evaluation_sets=(exams, str(other)), text_fields=("question",))
    with pytest.raises(ValueError, match=r"text_fields question: .*exams.jsonl:1: no field"):
        step.prepare(tmp_path)


def test_a_set_of_nothing_but_short_texts_is_an_error(exams, tmp_path):
    step = Decontaminate(evaluation_sets=(exams,), text_fields=("answer",))
    with pytest.raises(ValueError, match=r"exams.jsonl has no text of 13 words; a smaller"):
        step.prepare(tmp_path)


def test_a_million_repeated_words(tmp_path):
    step = Decontaminate(evaluation_texts=("spam " * 20, "spam"))
    verdict = judge_all(step, ["spam " * 1_000_000], tmp_path / "own")[0]
    assert value_of(verdict, "max_overlap") == 1
    assert isinstance(verdict.document, Document)
