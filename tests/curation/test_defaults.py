"""Published defaults: of two texts just on either side of one, only the first is kept.

Steps that compare documents leave some of a few hundred; another default leaves others.
`python -m tests.curation.thresholds` says which defaults no row of this file holds.
"""

import itertools
import random
import string
from pathlib import Path

import pytest

from bert_data.curation.duplicates import vector_clusters
from bert_data.curation.step import make_step
from tests.curation.corpora import make_documents, run_corpus_step
from tests.curation.texts import make_document


def names(num, length=5):
    """Different words of as many letters: aaaaa, aaaab, ..."""
    letters = itertools.product(string.ascii_lowercase, repeat=length)
    return ["".join(each) for each in itertools.islice(letters, num)]


def prose(num_words, length=5):
    return " ".join(["the", "and", *names(num_words - 2, length)])


def lines_of(texts, num_words):
    """The texts' words in lines of as many."""
    return [" ".join(texts[i : i + num_words]) for i in range(0, len(texts), num_words)]


def marked(num_marked, before="", after=""):
    """100 lines of five words, of which the first ones have marks."""
    lines = lines_of(prose(500).split(), 5)
    return "\n".join([f"{before}{line}{after}" for line in lines[:num_marked]] + lines[num_marked:])


def quality():
    yield "min_words", prose(50), prose(49)
    yield "max_words", prose(100_000), prose(100_001)
    yield "min_mean_word_length", prose(100, 3), prose(100, 3)[:-1]
    yield "max_mean_word_length", prose(100, 10) + 14 * "x", prose(100, 10) + 15 * "x"
    for mark in ("# ", "… ", "... "):
        yield "max_symbol_word_ratio", 10 * mark + prose(90), 11 * mark + prose(89)
    for bullet in "•-":
        yield "max_bullet_line_fraction", marked(90, bullet), marked(91, bullet)
    yield "max_ellipsis_line_fraction", marked(30, after="..."), marked(31, after="...")
    yield "min_alphabetic_word_fraction", prose(80) + 20 * " 12345", prose(79) + 21 * " 12345"
    yield "min_stop_words", prose(60), prose(60).removeprefix("the ")


def twice(parts):
    """Each part twice, but never two of them again in the same order."""
    return parts + parts[::-1]


def shares(text, num_characters, percent):
    """The text and a word that make these characters at most, and more than, a share of all."""
    size = -(-num_characters * 100 // percent)
    return [text + " " + (size - len(text) - each) * "x" for each in (1, 2)]


def repetition():
    lines = [*twice(names(30, 3)), *names(40, 9)]
    yield "max_duplicate_line_fraction", "\n".join(lines), "\n".join(lines[:-1])
    lines = [*twice(names(30, 3)), *(f"{name}\n{name}s" for name in names(40, 9))]
    yield "max_duplicate_paragraph_fraction", "\n\n".join(lines), "\n\n".join(lines[:-1])
    text = "\n".join([*twice(names(10, 20)), *names(20), ""])
    yield "max_duplicate_line_character_fraction", *shares(text, 200, 20)
    lines = [f"{name}\n{name[::-1]}" for name in names(10, 9)[1:]]
    text = "\n\n".join([*twice(lines), *(f"{name}\n{name}s" for name in names(20))])
    yield "max_duplicate_paragraph_character_fraction", *shares(text + "\n\n", 9 * 19, 20)
    for order, percent in ((2, 20), (3, 18), (4, 16)):
        unit = " ".join(names(order, 6))
        text = " ".join(f"{name} {unit}" for name in names(20))
        yield f"max_top_{order}_gram_fraction", *shares(text, 20 * len(unit), percent)
    for order, percent in ((5, 15), (6, 14), (7, 13), (8, 12), (9, 11), (10, 10)):
        text = " ".join(twice(lines_of(names(10 * order), order)))
        yield f"max_duplicate_{order}_gram_fraction", *shares(text, 50 * order, percent)


def length():
    yield "min_words", prose(26), prose(25)


def c4():
    def lines(*replaced):
        return "\n".join([*(4 * ["It was here."]), *replaced])

    yield "min_sentences", lines("It was here."), lines("")
    yield "min_sentences", lines("Here it was."), lines("Here was.")  # three words a line
    yield "min_sentences", lines(f"It was {999 * 'x'}."), lines(f"It was {1000 * 'x'}.")
    yield "max_lorem_ipsum_lines", lines("Lorem it was."), lines("Lorem ipsum was.")
    yield "max_curly_bracket_lines", lines("It was here."), lines("It was {.")
    yield "max_bad_words", lines("It was here."), lines("It was gronk.")


def fineweb():
    short = [f"{line}." for line in lines_of(names(500), 5)]  # of 30 characters
    long = [f"x{line}" for line in short]
    yield "max_short_line_fraction", *("\n".join(short[:n] + long[n:]) for n in (67, 68))
    endless = [f"{line[:-1]}x" for line in long]
    yield "min_terminal_line_fraction", *("\n".join(long[:n] + endless[n:]) for n in (12, 11))
    texts = ["\n".join(long[n:] + n * long[-1:]) for n in (10, 11)]
    yield "max_duplicate_line_character_fraction", *texts
    yield "max_newline_word_ratio", *(f"{prose(99)}.{num * chr(10)}" for num in (30, 31))


def code_quality():
    yield "max_line_length", 1000 * "x" + 20 * "\nx", 1001 * "x" + 20 * "\nx"
    lines = "\n".join(10 * [100 * "x"])
    yield "max_mean_line_length", lines, lines + "x"
    yield "min_alphanumeric_share", 25 * "x" + 75 * ";", 24 * "x" + 76 * ";"


def line_corrections():
    upper = "\n" + " ".join(names(5)).upper()
    yield "max_corrected_fraction", prose(95) + upper, prose(94) + upper
    yield "max_corrected_fraction", *(num * "X" + " " + (100 - num) * "x" for num in (50, 51))
    more = " Read more..."  # phrases are looked for in lines of ten words, not in those of eleven
    yield "max_corrected_fraction", prose(9) + more, prose(8) + more


def language():
    yield "min_score", "the river" + 6 * " zz", "the river" + 7 * " zz"  # 0.6535 and 0.6377
    yield "min_score", 991 * " " + "the river", 1000 * " " + "the river"  # 1,000 are read


def safety():
    yield "max_flagged_words", prose(99) + " gronk", prose(98) + " gronk"


def url_filter():
    kept = {"text": "", "url": "a.com/escort"}
    yield "max_soft_words", kept, {"text": "", "url": "a.com/escort-webcam"}


def score_sampling():
    yield "min_shape", *({"text": "", "classifier_score": score} for score in (0.862, 0.861))


def extract():
    yield "max_depth", *("<html>" + num * "<div>" for num in (256, 257))
    pages = [" ".join(["<html><p", *(f"a{i}=1" for i in range(num))]) for num in (1000, 1001)]
    yield "max_attributes", *(f"{page}>Text" for page in pages)


EXAM = prose(13)


def decontaminate():
    yield "max_overlap", EXAM.removeprefix("the "), EXAM


def cut():
    def pieces(num, size):
        return f" {EXAM} ".join(num * [(size // 2) * "x "])

    yield "max_pieces", pieces(10, 598), pieces(11, 598)
    yield "max_pieces", pieces(11, 596), pieces(11, 598)  # short pieces, without margins, go


STEPS = (
    ("gopher_quality", quality, {"language": "en"}),
    ("gopher_repetition", repetition, {}),
    ("length", length, {}),
    ("c4", c4, {"bad_words": "words.txt"}),
    ("fineweb", fineweb, {}),
    ("code_quality", code_quality, {}),
    ("line_corrections", line_corrections, {}),
    ("language", language, {}),
    ("safety", safety, {"words": ["gronk"]}),
    ("url_filter", url_filter, {}),
    ("score_sampling", score_sampling, {}),
    ("extract", extract, {}),
    ("decontaminate", decontaminate, {"evaluation_texts": [EXAM]}),
    ("decontaminate", cut, {"evaluation_texts": [EXAM], "action": "cut"}),
)


@pytest.mark.parametrize(
    ("step", "parameters", "rule", "kept", "rejected"),
    [
        pytest.param(step, parameters, *row, id=f"{step}-{row[0]}-{number}")
        for step, rows, parameters in STEPS
        for number, row in enumerate(rows())
    ],
)
def test_a_default_separates_texts_on_its_two_sides(
    step, parameters, rule, kept, rejected, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("gronk\n")
    judging = make_step(step, parameters)
    Path("prepared").mkdir()
    judging.prepare(Path("prepared"))
    judge = judging.open("prepared")
    failed = []
    for each in (kept, rejected):
        verdict = judge(make_document(**each) if isinstance(each, dict) else make_document(each))
        failed.append({measured.rule for measured in verdict.measured if measured.failed})
    assert failed == [set(), {rule}]


def copies():
    return make_documents(3 * ["One."])


def lines():
    return make_documents([f"x\nHome\nNumber {name}" for name in ("one", "two", "three")])


def runs():
    """Runs of 50 words and of 49 that occur twice."""
    first, second = prose(50), prose(49).upper()
    return make_documents([f"{first} 1 {second} 2", f"{first} 3 {second} 4"])


def alike():
    """Pairs of texts with a similarity of 0.7 to 0.9, about."""
    draw = random.Random(1)
    texts = []
    for number in range(150):
        words = draw.choices(names(2000), k=200)
        texts.append(" ".join(words))
        for place in draw.sample(range(200), 3 + number % 4):
            words[place] = "other"
        texts.append(" ".join(words))
    return make_documents(texts)


def short_lines():
    """Lines of 9 words and of 10 that occur twice, with their embeddings."""
    texts = [f"{prose(9)}\n{prose(10).upper()}\n{name}" for name in ("one", "two")]
    return [d.with_fields(embedding=[[1, 0], [0, 1], [1, 1]]) for d in make_documents(texts)]


def vectors():
    draw = random.Random(2)
    documents = make_documents(names(1000))
    return [d.with_fields(embedding=[draw.gauss(0, 1) for _ in range(5)]) for d in documents]


REFERENCE = random.Random(4).choices(names(60), weights=range(60), k=1000)


def plausible():
    """Parts of the reference, of whose words more and more are others."""
    draw = random.Random(3)
    texts = []
    for number in range(100):
        words = REFERENCE[number : number + 20]
        for place in draw.sample(range(20), number // 5):
            words[place] = draw.choice(REFERENCE)
        texts.append(" ".join(words))
    return make_documents(texts)


CORPUS_STEPS = (
    ("exact_duplicates", copies, {}, (1, 4, 2)),
    ("line_duplicates", lines, {}, (3, 39, 3)),
    ("substring_duplicates", runs, {}, (2, 882, 1)),
    ("near_duplicates", alike, {}, (185, 221815, 27962)),
    ("near_duplicates", short_lines, {"unit": "line"}, (2, 162, 1)),
    ("semantic_duplicates", vectors, {}, (459, 2295, 237519)),
    ("semantic_duplicates", vectors, {"num_clusters": 3}, (427, 2135, 215211)),
    ("semantic_duplicates", short_lines, {"unit": "line"}, (2, 162, 1)),
    ("perplexity", plausible, {"reference": "reference.txt"}, (61, 7563, 2026)),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "documents", "parameters", "left"),
    [pytest.param(*row, id=f"{row[0]}-{n}") for n, row in enumerate(CORPUS_STEPS)],
)
def test_defaults_leave_the_same_of_documents(
    step, documents, parameters, left, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(vector_clusters, "LEAST_SAMPLE", 0)
    Path("reference.txt").write_text(" ".join(REFERENCE))
    (verdicts,) = run_corpus_step(make_step(step, parameters), [documents()], tmp_path)
    kept = [verdict.document for verdict in verdicts if verdict.kept]
    buckets = "".join(document.fields.get("perplexity_bucket", "") for document in kept)
    numbers = [int(document.id.removeprefix("crawl/")) for document in kept]
    num_characters = sum(len(document.text) for document in kept) + len(buckets)
    assert (len(kept), num_characters, sum(numbers)) == left
