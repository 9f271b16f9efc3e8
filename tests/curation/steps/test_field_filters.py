"""Documents by the values of their fields."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document, FieldError
from bert_data.curation.step import make_step
from bert_data.curation.steps.field_filters import (
    FieldValues,
    Licence,
    ScoreSampling,
    find_licences,
    greatest_shape,
    is_allowed,
    normal_licence,
)
from bert_data.curation.steps.mix import Mix
from tests.curation.corpora import write_rows
from tests.curation.growth import assert_linear
from tests.curation.labels import FOLDER
from tests.curation.running.test_run import run


@pytest.mark.parametrize(
    ("fields", "is_kept"),
    [
        ({"site": "superuser.com"}, True),
        ({"site": "SuperUser.com"}, True),
        ({"site": "coffee.stackexchange.com"}, False),
        ({"site": ""}, False),
        ({"site": ["a", "superuser.com"]}, True),
        ({"site": ["a"]}, False),
        ({"site": 7}, True),
        ({"site": []}, None),
        ({"site": None}, None),
        ({}, None),
    ],
)
def test_values(fields, is_kept) -> None:
    document = Document("a", "qa", "One.", fields)
    for missing in ("keep", "reject"):
        step = FieldValues(field="site", allowed=("superuser.com", "7"), missing=missing)
        expected = missing == "keep" if is_kept is None else is_kept
        assert step.judge(document).kept == expected


def test_a_list_that_nothing_is_in_is_told() -> None:
    step = FieldValues(field="site", allowed=("a",))
    assert (
        step.describe_use({"allowed": 3}) == "no document has an allowed value in its field 'site'"
    )
    assert step.describe_use({"allowed": 3, "with an allowed value": 1}) is None
    assert step.describe_use({}) is None
    assert step.describe_use({"without the field": 3}) == "no document has the field 'site'"
    assert step.judge(Document("a", "qa", "One.")).counted == {"without the field": 1}


@pytest.mark.parametrize("allowed", [[1, 2.5, True], (1, "2.5", True), 1])
def test_numbers_are_compared_as_text(allowed) -> None:
    step = make_step("field_values", {"field": "n", "allowed": allowed})
    assert step.judge(Document("a", "qa", "One.", {"n": 1})).kept
    assert not step.judge(Document("a", "qa", "One.", {"n": 3})).kept
    if allowed != 1:
        assert step.judge(Document("a", "qa", "One.", {"n": 2.5})).kept
        assert step.judge(Document("a", "qa", "One.", {"n": True})).kept


# Rows have "name" or "text", one of these, and the licences that it is or tells; "\\n" ends a line.
LICENCES = [
    row.replace("\\n", "\n").split("\t")
    for row in (FOLDER / "licences.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("name, normal_form", [row[1:] for row in LICENCES if row[0] == "name"])
def test_one_form_for_the_names_of_a_licence(name, normal_form):
    assert normal_licence(name) == normal_form
    if normal_form:
        assert normal_licence(normal_form) == normal_form
        assert is_allowed(normal_form, (name,))


def test_a_version_is_needed_only_if_it_is_named():
    assert is_allowed("cc-by-4.0", ("cc-by",)) and is_allowed("cc-by-4.0", ("CC BY 4.0",))
    assert not is_allowed("cc-by-4.0", ("cc-by-3.0",))
    assert not is_allowed("cc-by-nc-4.0", ("cc-by",)) and not is_allowed("cc-by-sa", ("cc-by",))
    assert not is_allowed("bsd-3-clause", ("bsd-2-clause",))


@pytest.mark.parametrize("text, licence", [row[1:] for row in LICENCES if row[0] == "text"])
def test_licences_that_texts_tell(text, licence):
    assert " ".join(find_licences(text)) == licence


def judge(text: str, fields: dict[str, object], **parameters):
    step = Licence(**{"allowed": ("cc-by", "mit", "cc0-1.0"), **parameters})
    return step.judge(Document("a/1", "a", text, fields))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("CC BY 4.0", True),
        ("CC BY-NC 4.0", False),
        ("MIT OR GPL-3.0", True),
        ("(MIT AND GPL-3.0)", False),
        ("MIT AND CC0-1.0", True),
        ("(MIT OR GPL-3.0) AND GPL-3.0", False),
        ("MIT WITH A-exception", True),
        ("MIT with the Commons Clause", False),
        (["mit", "cc-by-3.0"], True),
        (["mit", "gpl-3.0"], False),
        ("cc0-2.0", False),
    ],
)
def test_fields(value, kept):
    for name in ("license", "licence"):
        verdict = judge("SPDX-License-Identifier: Unlicense", {name: value})
        assert verdict.kept == kept
        assert verdict.measured[0].rule == "allowed"


@pytest.mark.parametrize(
    ("header", "value", "shown"),
    [
        ("Released under the GPL.", "MIT", "GPL"),
        ("Proprietary and confidential", ["mit"], "proprietary"),
        ("Licensed under the A License.", "MIT", "unknown"),
        ("Licensed under the MIT License.", "Apache-2.0", "MIT"),
        ("Licensed under the MIT License.", "The MIT License", "The MIT License"),
        ("Copyright A.", "MIT", "MIT"),
        ("Released under the GPL.", "MIT OR GPL-2.0-only", "GPL"),
        ("Copyright A.", "MIT OR GPL-2.0-only", "MIT OR GPL-2.0-only"),
        ("Licensed under the MIT License.", None, "MIT"),
        ("Licensed under the terms in the LICENSE file.", None, "unknown"),
        ("Copyright A.", None, "none"),
    ],
)
def test_headers_of_source_code(header, value, shown):
    text = f"# {header}\nprint()\n# Licensed under the MIT License.\n"
    verdict = judge(text, {} if value is None else {"licence": value}, headers=True)
    assert verdict.measured[0].value == shown
    assert verdict.kept == ("MIT" in shown)


def test_documents_that_tell_none():
    for fields in ({}, {"license": None}, {"license": ""}, {"license": 7}, {"license": []}):
        verdict = judge("No word.", fields)
        assert not verdict.kept and verdict.measured[0].value == "none"
        assert judge("No word.", fields, unknown="keep").kept
        assert judge("CC BY 4.0", fields).kept
        assert not judge("CC BY 4.0", fields, from_text=False).kept


def test_unused_lists_are_told():
    step = Licence(allowed=("mit", "cc0"))
    others = {"without a licence": 3, "allowed": 2}  # two have others and were rejected for it
    assert step.describe_use(others) == "no document has one of the licences mit, cc0"
    assert step.describe_use({**others, **judge("CC BY 4.0", {}).counted}) is None


@given(st.text(st.characters(codec=None, categories=None), max_size=80))
def test_any_text(text):
    for licence in find_licences(f"licensed under the {text} CC BY {text}"):
        assert normal_licence(licence) == licence
    assert normal_licence(normal_licence(text)) == normal_licence(text)


@pytest.mark.parametrize(
    "part",
    [
        "under the MIT ",
        "license ",
        "Creative Commons Attribution ",
        "CC BY-SA-",
        "知识共享署名-",
        "署名",
        "creativecommons.org/licenses/by-",
        "SPDX-License-Identifier: ",
        "-",
        "a",
        " ",
        "by\n",
    ],
)
def test_time_grows_with_the_length(part):
    assert_linear(find_licences, part, 2_000)


def having(score, number=0):
    return Document(id=str(number), source="web", text="x", fields={"classifier_score": score})


@pytest.mark.parametrize("shape", [3, 9])
@pytest.mark.parametrize("score", [0.0, 0.5, 0.9])
def test_as_many_stay_as_of_numpys_pareto(shape, score):
    """The condition as GPT-3's authors wrote it: np.random.pareto(shape) > 1 - score."""
    step, number = ScoreSampling(min_shape=shape), 4000
    kept = sum(step.judge(having(score, n)).kept for n in range(number))
    drawn = np.random.default_rng(7).pareto(shape, 10**6) > 1 - score
    deviation = math.sqrt(number * drawn.mean() * (1 - drawn.mean()))
    assert abs(kept - number * drawn.mean()) < 6 * deviation + 1


@pytest.mark.parametrize(("score", "as_share"), [(0, 0.0), (2, 0.5), (4, 1.0), (70, 1.0)])
def test_scores_may_count_from_another_one(score, as_share):
    for number in range(50):
        verdict = ScoreSampling(full_score=4).judge(having(score, number))
        assert verdict.measured == ScoreSampling().judge(having(as_share, number)).measured
    with pytest.raises(FieldError, match=r"must be in \[0, 1\]"):
        ScoreSampling(full_score=4).judge(having(-1, 0))


@given(st.floats(0, 1), st.floats(0, 1), st.integers(), st.integers(0, 99))
def test_a_higher_score_never_loses_a_document(one, other, seed, number):
    step = ScoreSampling(seed=seed)
    low, high = (step.judge(having(score, number)).kept for score in sorted((one, other)))
    assert high or not low
    assert step.judge(having(1.0, number)).kept


@given(st.floats(0, 1), st.integers(0, 999), st.floats(0, 1000), st.floats(0, 1000))
def test_the_measured_value_tells_what_another_shape_keeps(score, number, shape, other):
    measured = ScoreSampling(min_shape=shape).judge(having(score, number)).measured[0]
    assert (measured.rule, measured.threshold) == ("min_shape", shape)
    kept = ScoreSampling(min_shape=other).judge(having(score, number)).kept
    assert kept == (measured.value >= other)


def test_shapes_are_finite_where_every_one_keeps_a_document():
    assert greatest_shape(1.0, 0.5) == greatest_shape(0.0, 0.0) == 1e6
    assert greatest_shape(0.5, 1.5**-9) == pytest.approx(9)


def test_the_draw_is_not_that_of_the_mix():
    """Else the mix would keep all that the sampling has kept."""
    sampling = [2 ** -ScoreSampling().judge(having(0.0, n)).measured[0].value for n in range(2000)]
    decided = type("", (), {"notes": {"epochs": {"web": 0.5}, "bounds": {}}})
    documents = [having(0.5, n) for n in range(2000)]
    mixed = [v.measured[0].value for v in Mix(epochs={"web": 0.5}).judge_shard(decided, documents)]
    assert abs(np.corrcoef(sampling, mixed)[0, 1]) < 0.15


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        (1.5, "document '0' of web: field 'classifier_score' is 1.5; it must be in"),
        (-0.1, "field 'classifier_score' is -0.1; it must be in"),
        (math.nan, "field 'classifier_score' is nan; it must be a finite number"),
        (None, "document '0' of web has no field 'classifier_score'"),
    ],
)
def test_scores_that_are_none_are_told(score, sentence):
    with pytest.raises(ValueError, match=sentence):
        ScoreSampling().judge(having(score))


@pytest.mark.parametrize("score", [None, "good", 7])
def test_a_document_without_a_score_stops_the_run_as_in_a_mix(tmp_path, score):
    """Both say it in the same words, although bad documents are skipped."""
    rows = [{"text": "one", "n": 1}, {"text": "two", "n": 2}]
    write_rows(tmp_path / "web.jsonl", [row | {"s": score} for row in rows])
    sentences = []
    for step in (
        ScoreSampling(score_field="s"),
        Mix(exponent=1, bucket_field="s", bucket_bounds=2),
    ):
        if score == 7 and isinstance(step, Mix):
            continue
        with pytest.raises(ValueError, match=f"^step {step.name}: document ") as raised:
            run(tmp_path, [step])
        sentences.append(str(raised.value).removeprefix(f"step {step.name}: "))
    assert len(set(sentences)) == 1
    assert sentences[0].count(" of web") == sentences[0].count("web.jsonl") == 1, sentences
    if score is None:
        assert sentences[0].endswith("has no field 's'; its fields are n")
