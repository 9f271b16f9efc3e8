"""Documents by lists of words: labelled texts, the rules' figures, languages, and mistakes."""

import math
import pickle
import unicodedata
from pathlib import Path

import pytest

from bert_data.curation.document import Document
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import make_step
from bert_data.curation.steps.safety import Safety
from tests.curation.corpora import pipeline_of, write_texts

LABELS = Path(__file__).resolve().parents[1] / "data" / "safety_labels.tsv"
ENGLISH = "gronk\nflim flam\t2\nsnarfle\nbladder\nsnöd\n"
CHINESE = "坏话王\n赌乐城\n毒话\n毒話\n"


@pytest.fixture
def lists(tmp_path):
    """Invented words, by language."""
    for name, text in (("en", ENGLISH), ("zh", CHINESE)):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    return {name: [str(tmp_path / f"{name}.txt")] for name in ("en", "zh")}


def open_step(folder, **parameters):
    """The function that judges; the step is pickled on the way, as to workers."""
    step = make_step("safety", parameters)
    (folder / "prepared").mkdir()
    step.prepare(folder / "prepared")
    return pickle.loads(pickle.dumps(step)).open(folder / "prepared")


def document(text: str, **fields) -> Document:
    return Document("a/1", "a", text, fields)


def values(verdict) -> dict[str, float]:
    return {each.rule: each.value for each in verdict.measured}


def test_labelled_texts_are_judged_as_their_labels_say(lists, tmp_path):
    judge = open_step(tmp_path, word_files=lists)
    rows = [line.split("\t") for line in LABELS.read_text("utf-8").splitlines()]
    assert len(rows) == 29
    wrong = [
        text
        for language, label, text in rows
        if judge(document(text.replace("\\n", "\n"), language=language)).kept != (label == "kept")
    ]
    assert wrong == []


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_may_be_composed(lists, tmp_path, form):
    judge = open_step(tmp_path, word_files=lists)
    text = unicodedata.normalize(form, "Über snöd, and naïve.")
    assert values(judge(document(text, language="en")))["max_flagged_words"] == 1 / 4


def test_what_is_measured(lists, tmp_path):
    judge = open_step(tmp_path, word_files=lists, max_flagged_lines=0.4)
    verdict = judge(document("One gronk, two.\n\n!\nThe flim flam, a gronk.\nNothing is here."))
    assert values(verdict) == {
        "max_flagged_words": (1 + 2 * 2 + 1) / 11,
        "max_flagged_per_line": (1 + 2 + 1) / 4,
        "max_flagged_lines": 2 / 4,
    }
    assert [each.failed for each in verdict.measured] == [True, False, True]
    verdict = judge(document("坏话王，赌乐城abc。人们说好。"))
    assert values(verdict)["max_flagged_words"] == 6 / 11
    assert values(verdict)["max_flagged_per_line"] == 2
    for text in ("", "!", "\n", "Clean."):
        assert set(values(judge(document(text))).values()) == {0}
        assert judge(document(text)).kept


@pytest.mark.parametrize(
    ("rule", "threshold", "kept"),
    [
        ("max_flagged_words", 0.5, True),
        ("max_flagged_words", 0.49, False),
        ("max_flagged_per_line", 1, True),
        ("max_flagged_per_line", 0.99, False),
        ("max_flagged_lines", 1, True),
        ("max_flagged_lines", 0.99, False),
    ],
)
def test_each_rule_rejects_by_itself(tmp_path, rule, threshold, kept):
    off = {"max_flagged_words": math.inf, "max_flagged_per_line": math.inf}
    judge = open_step(tmp_path, words=["gronk"], **{**off, rule: threshold})
    verdict = judge(document("Gronk this."))
    assert verdict.kept == kept
    assert {each.rule for each in verdict.measured if each.failed} == (set() if kept else {rule})


def test_lists_are_for_their_languages(lists, tmp_path):
    files = {**lists, "every": lists["en"], "zh-Hant": lists["zh"], "de": lists["zh"]}
    judge = open_step(tmp_path, word_files=files, words="xyzzy")
    for text, language, kept in (
        ("坏话王", None, False),
        ("坏话王", "cmn", False),
        ("坏话王", "en", True),
        ("坏话王", "de", False),
        ("坏话王", "ja", True),
        ("Gronk.", "fr", False),
        ("Gronk.", "de", False),
        ("xyzzy", "zh", False),
    ):
        fields = {} if language is None else {"language": language}
        assert judge(document(text, **fields)).kept == kept, (text, language)


def test_a_document_without_a_list_stays(lists, tmp_path):
    judge = open_step(tmp_path, word_files={"zh": lists["zh"]}, language="fr")
    verdict = judge(document("Gronk."))
    assert verdict.kept and not verdict.measured and not verdict.counted
    assert judge(document("毒话", language="zh")).counted == {
        "documents with a list": 1,
        "documents with a listed word": 1,
    }


def test_lists_without_effect_are_told(lists):
    step = Safety(word_files=lists)
    assert step.describe_use({}) == "no document is in a language with a list: en, zh"
    seen = {"documents with a list": 9}
    assert step.describe_use(seen) == "no document contains a word of the lists"
    assert step.describe_use({**seen, "documents with a listed word": 1}) is None


def test_wrong_lists_are_refused_before_anything_is_written(lists, tmp_path):
    Path(lists["zh"][0]).write_text("坏话\tmuch\n", encoding="utf-8")
    write_texts(tmp_path, ["Gronk.", "Good."])
    with pytest.raises(ValueError, match=r"step safety: .*zh.txt:1: the weight is 'much'"):
        run(tmp_path, word_files=lists)
    assert not (tmp_path / "o.jsonl").exists()


def run(folder, **parameters):
    return run_pipeline(pipeline_of(folder, [make_step("safety", parameters)]), num_workers=1)
