"""C4's rules against the same in plain Python."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.quality.languages import (
    letters_per_word,
    marks_sentences,
    sentence_terminals,
)
from bert_data.curation.running.presets import preset_steps
from bert_data.curation.step import make_step
from bert_data.curation.steps.web_rules import C4, FineWeb
from bert_data.curation.words import split_words
from bert_data.text.sentences import split_sentences
from tests.curation.texts import TEXTS, make_document, measured
from tests.hypotheses import examples

POLICY = ("terms of use", "privacy policy", "cookie policy")
POLICY += ("uses cookies", "use of cookies", "use cookies")
PARTS = ("One two three.", "Is it so?", "No", "Lorem ipsum is it.", "Use {this} for it.", "x...")
PARTS += ("See JavaScript for it.", "We use cookies for it.", "Cite [12] and [edit].")
PARTS += ("'He said so.'",)
PARTS += ("java[1]script is it.", "w" * 30 + " is long.", "他的女儿问了船夫。", "{We use cookies}.")
PARTS += ("lorem ipsum javascript here.", "{ javascript here.", " \t ", "ends[1].", "ends.[1]")
SPACES = ("\n", "\n", "\r\n", " ", "\x0b", "\u2028", "\n\n")
LINES = st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(SPACES)), max_size=12)
TERMINALS = tuple(map(chr, sentence_terminals().tolist()))
FOREIGN = "".join(mark for mark in TERMINALS if not mark.isascii())
C4_STEP = C4(min_sentences=2, max_word_characters=20)


def clean_slowly(step, text):
    """(Lines that are kept, lines of lorem ipsum, lines of curly brackets)."""
    words = split_words(text)
    letters = letters_per_word(words)
    ends = (*step.terminal_punctuation, *("”」』" if letters > 1 else ""))
    if not marks_sentences(words):
        ends = ("",)
    kept, num_lorem, num_curly = [], 0, 0
    for line in map(str.strip, text.splitlines()):
        spaced = line.split()
        number = len(spaced)
        if letters > 1:
            inside = split_words(line)
            num_unspaced = inside.is_unspaced.sum()
            number = (~inside.is_symbol).sum() - num_unspaced + num_unspaced / letters
        if any(len(word) > step.max_word_characters for word in spaced):
            continue
        line = re.sub(r"\[\d*]|\[edit]|\[citation needed]", "", line)
        ends_elsewhere = re.search(rf"[{FOREIGN}][\"'”’»」』）〉》】﴾)\]]*\Z", line)
        if not (line.endswith(ends) or ends_elsewhere) or line.endswith("..."):
            continue
        if number < step.min_words_per_line:
            continue
        lowered = line.lower()
        num_lorem += "lorem ipsum" in lowered
        if "javascript" in lowered:
            continue
        num_curly += "{" in line
        if any(phrase in lowered for phrase in POLICY):
            continue
        kept.append(line)
    return kept, num_lorem, num_curly


@examples(200)
@given(st.one_of(LINES.map(lambda parts: "".join(map("".join, parts))), TEXTS))
@example("No\n他的女儿问了船夫。\nOne two three.\n")
@example("'He said so.'\nends[1]. One two three.\n")
def test_rules_of_c4_are_as_defined(text):
    kept, num_lorem, num_curly = clean_slowly(C4_STEP, text)
    expected = "\n".join(kept).strip()
    verdict = C4_STEP.judge(make_document(text))
    values = {each.rule: each.value for each in verdict.measured}
    assert values.pop("max_lorem_ipsum_lines") == num_lorem
    assert values.pop("max_curly_bracket_lines") == num_curly
    language = "en" if letters_per_word(split_words(text)) == 1 else "zh"
    encodable = expected.encode(errors="replace").decode()
    sentences = split_sentences(encodable, language, joins_lines=False)
    assert values["min_sentences"] == len(sentences)
    assert verdict.kept == (values.pop("min_sentences") >= 2 and num_lorem + num_curly == 0)
    assert verdict.document.text == (expected if verdict.kept else text)
    assert not values


LONG = "One is here. Two is here. Three is here. Four is here. Five is here."


@pytest.mark.parametrize(
    ("line", "parameters", "edits"),
    [
        ("no end of it", {}, {"lines_without_terminal_punctuation": 1}),
        ("no end of it", {"terminal_punctuation": []}, {}),
        ("राम घर जाता है।", {}, {}),
        ("यह मेरी किताब है॥", {}, {}),
        ("وہ اب گھر جاتا ہے۔", {}, {}),
        ("هل هو في البيت؟", {}, {}),
        ("Նա գնում է տուն։", {}, {}),
        ("እሱ ወደ ቤት ሄደ።", {}, {}),
        ("他说 这是 他们的书。）", {}, {}),
        ("He said so, he did。”", {}, {}),
        ("राम घर जाता है", {}, {"lines_without_terminal_punctuation": 1}),
        ("it goes on...", {}, {"lines_without_terminal_punctuation": 1}),
        ("Two words.", {}, {"short_lines": 1}),
        ("Two words.", {"min_words_per_line": 2}, {}),
        ("See JAVAscript, please.", {}, {"javascript_lines": 1}),
        ("See JAVAscript, please.", {"removes_javascript_lines": False}, {}),
        ("Our Privacy Policy is this.", {}, {"policy_lines": 1}),
        ("Our Privacy Policy is this.", {"removes_policy_lines": False}, {}),
        ("a " + "w" * 1001 + " is it.", {}, {"lines_with_long_words": 1}),
        ("a " + "w" * 1001 + " is it.", {"max_word_characters": 2000}, {}),
    ],
)
def test_lines_are_dropped_and_told(line, parameters, edits):
    verdict = make_step("c4", parameters).judge(make_document(f"{LONG}\n{line}"))
    assert verdict.kept and verdict.edits == edits
    assert verdict.document.text == (LONG if edits else f"{LONG}\n{line}")


def test_citations_are_taken_out_and_told():
    text = LONG.replace("here", "here[3]", 2) + "\nAnd this[edit] too.\nBut[citation needed] no"
    verdict = C4().judge(make_document(text))
    assert verdict.document.text == LONG + "\nAnd this too."
    assert verdict.edits == {"citations": 3, "lines_without_terminal_punctuation": 1}
    kept = C4(removes_citations=False, terminal_punctuation=()).judge(make_document(text))
    assert kept.document.text == text


def test_thai_lines_of_c4_need_no_marks():
    text = "ภาษาไทยเป็นภาษาที่มี\nภาษาไทยเป็นภาษาที่มีใน"
    assert C4(min_sentences=2).judge(make_document(text)).document.text == text


def test_bad_words_are_of_a_list(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("Foo bar\n\n  baz \n坏话\nñoño\n", encoding="utf-8")
    step = make_step("c4", {"bad_words": str(path)})
    folder = tmp_path / "prepared"
    folder.mkdir()
    step.prepare(folder)
    path.unlink()
    judge = step.open(folder)
    for last, number in (
        ("A foo BAR.", 1),
        ("Baz, baz.", 2),
        ("Foobar, bazaar.", 0),
        ("坏话吗", 1),
        ("Es n\u0303on\u0303o.", 1),
    ):
        verdict = judge(make_document(f"{LONG}\n{last}"))
        values = {each.rule: each.value for each in verdict.measured}
        assert values["max_bad_words"] == number
        assert verdict.kept == (number == 0)
    assert step.describe_use({"max_bad_words": 1}) is None
    assert "no document contains a phrase of" in step.describe_use({"short_lines": 1})
    assert C4().describe_use({}) is None


@pytest.mark.parametrize("language", ["en", "de", "zh-Hant", "xx", "xyz", "?!", "", 7])
def test_any_language_of_a_document_is_taken(language):
    assert C4().judge(make_document(LONG, language=language)).kept


STEP = FineWeb()


def measure_slowly(text):
    words = split_words(text)
    letters = letters_per_word(words)
    max_short = 30 if letters == 1 else round(30 * letters / 5)
    lines = [line for line in text.split("\n") if line.strip()]
    without_return = [line.removesuffix("\r") for line in lines]
    repeated = sum(len(line) for place, line in enumerate(lines) if line in lines[:place])
    num_words = len(words) - words.is_unspaced.sum() + words.is_unspaced.sum() / letters
    ended = sum(line.endswith(TERMINALS) for line in without_return)
    short = sum(len(line) <= max_short for line in without_return)
    terminal = {"min_terminal_line_fraction": ended / max(1, len(lines))}
    return (terminal if marks_sentences(words) else {}) | {
        "max_short_line_fraction": short / max(1, len(lines)),
        "max_duplicate_line_character_fraction": repeated / max(1, len(text.replace("\n", ""))),
        "max_newline_word_ratio": text.count("\n") / num_words if num_words else 0,
    }


@examples(200)
@given(TEXTS)
def test_rules_are_as_defined(text):
    assert measured(STEP, text) == pytest.approx(measure_slowly(text), abs=1e-9)


def test_thai_lines_need_no_marks():
    assert "min_terminal_line_fraction" not in measured(STEP, "ภาษาไทยเป็นภาษา")
    assert measured(STEP, "ភាសាខ្មែរ។")["min_terminal_line_fraction"] == 1


@pytest.mark.parametrize(
    ("last", "kept"),
    [
        ("And here it was too.", True),
        ("And here it was.", False),  # four words
        ('And here it was "too"', True),
        ("And here it was 'too'", False),
        ("And here it was “too”", False),
        ("And here it was “too.”", False),
        ("And here it was too...", False),
    ],
)
def test_the_preset_c4_has_the_numbers_of_the_code_that_built_c4(last, kept):
    """Three sentences, in lines of five words that end with a mark of the code."""
    (step, *_) = preset_steps("c4")
    lines = "It was here by then.\nIt was there by now.\n"
    assert step.judge(make_document(f"{lines}{last}")).kept == kept
    assert not step.judge(make_document(lines)).kept


@pytest.mark.parametrize(
    ("step", "rule", "kept", "rejected"),
    [
        ("fineweb", "min_terminal_line_fraction", 0.12, 0.1199),
        ("fineweb", "max_short_line_fraction", 0.67, 0.6701),
        ("fineweb", "max_duplicate_line_character_fraction", 0.1, 0.1001),
        ("language", "min_score", 0.65, 0.6499),
    ],
)
def test_a_value_that_is_the_threshold_of_the_preset_fineweb_is_kept(step, rule, kept, rejected):
    (rules,) = (each for each in preset_steps("fineweb") if each.name == step)
    assert [each.failed for each in rules.measure_rules({rule: kept})] == [False]
    assert [each.failed for each in rules.measure_rules({rule: rejected})] == [True]
