"""Recipes in YAML: what a file says, and its mistakes, each one sentence with its line."""

import re
from dataclasses import fields

import pytest

from bert_data.recipes.recipe import Recipe, Stage
from bert_data.recipes.stage_masking import Ramp, StageMasking
from bert_data.records.masking.rule import Shown

WHOLE = """\
seed: 12345
vocab_file: vocab.txt
stores: {wiki: data/wiki@8, books: data/books, c4-en: "s3://b/c@32"}
stages:
  - tokens: 1e9
    objective: none
    max_seq_length: 1024
    batch_tokens: {from: 65_536, to: 1_048_576, over: 2e8}
    batching: packed
    masking: {rule: tokens, rate: 0.30, shown: {mask: 0.8, random: 0.1, keep: 0.1}}
    mixture: {wiki: 0.7, books: 0.3}
  - tokens: 2e8
    max_seq_length: 8192
    masking: {rate: {from: 0.30, to: 0.05}}
    mixture:
      wiki: 0.5
      books: 0.2
      c4-en: 0.3
skip: [[3, 4], [10, 10]]
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read_text(text):
        (tmp_path / "r.yaml").write_text(text)
        return Recipe.from_file("r.yaml")

    return read_text


def test_a_file_says_what_dataclasses_say(read):
    first = Stage(
        tokens=1e9,
        objective="none",
        max_seq_length=1024,
        batch_tokens=Ramp(start=65_536, end=1_048_576, over=2e8),
        batching="packed",
        masking=StageMasking(rule="tokens", rate=0.3, shown=Shown(0.8, 0.1, 0.1)),
        mixture={"wiki": 0.7, "books": 0.3},
    )
    second = Stage(
        tokens=2e8,
        max_seq_length=8192,
        masking=StageMasking(rate=Ramp(start=0.3, end=0.05)),
        mixture={"wiki": 0.5, "books": 0.2, "c4-en": 0.3},
    )
    assert read(WHOLE) == Recipe(
        seed=12345,
        vocab_file="vocab.txt",
        stores={"wiki": "data/wiki@8", "books": "data/books", "c4-en": "s3://b/c@32"},
        stages=(first, second),
        skip=((3, 4), (10, 10)),
    )


def test_numbers_are_of_their_fields_types_and_names_as_they_are_written(read):
    text = "{vocab_file: 1.50, stores: {010: a, 1.50: b, true: c}, stages: [{steps: 1e3,"
    recipe = read(f"{text} batch_size: 8, tokens: null, mixture: {{010: 1, true: 2}}}}]}}")
    assert recipe.vocab_file == "1.50"
    assert recipe.stores == {"010": "a", "1.50": "b", "true": "c"}
    assert recipe.stages[0].steps == 1000
    assert type(recipe.stages[0].steps) is int
    assert recipe.stages[0].mixture == {"010": 1, "true": 2}
    assert type(recipe.stages[0].mixture["010"]) is int


@pytest.mark.parametrize(
    ("was", "now", "sentence"),
    [
        ("seed", "sed", "line 1: the file has no key 'sed' (did you mean seed?); there are"),
        ("12345", "a", "line 1: seed is 'a'; it must be an integer"),
        ("vocab_file: vocab.txt", "", "line 1: the recipe needs one of vocab_file and tokenizer"),
        ("data/books", "[a]", "line 3: stores: books is ['a']; it must be a string"),
        ("tokens: 1e9", "tokens: -1", "line 5: stage 1: tokens is -1; 1 to 1e+18 is allowed"),
        ("tokens: 1e9", "steps: 1.5",
         "line 5: stage 1: steps is 1.5; an integer, 1 to 1e+18, is allowed"),
        ("tokens: 1e9\n", "tokens: 1e9\n    steps: 3\n",
         "line 5: stage 1: it has tokens and steps; set one of tokens, steps, epochs"),
        ("tokens: 1e9\n    objective", "objective", "line 5: stage 1: it has no end; set one of"),
        ("1024", "[9]", "line 7: stage 1: max_seq_length is [9]; an integer, 5 to 65,535, is"),
        ("from: 65_536", "form: 65_536",
         "line 8: stage 1: batch_tokens has no key 'form' (did you mean from?); there are"),
        ("to: 1_048_576, ", "", "line 8: stage 1: batch_tokens has no to; it needs one"),
        ("over: 2e8", "over: 0", "line 8: stage 1: batch_tokens: over is 0; 1 to 1e+18 is allowed"),
        ("over: 2e8", "over: 2e9",
         "line 8: stage 1: batch_tokens: over is 2e+09; at most the 1e+09 tokens of the stage"),
        ("from: 65_536", "from: 512",
         "line 8: stage 1: batch_tokens is 512; at least a row, 1,024 by max_seq_length, is"),
        ("rate: 0.30,", "rate: [1],",
         "line 10: stage 1: masking: rate is [1]; it must be a number or a mapping with"),
        ("mask: 0.8", "mask: 0.9",
         "line 10: stage 1: masking: shown is 0.9, 0.1, 0.1; the shares must make 1"),
        ("keep: 0.1", "kept: 0.1",
         "line 10: stage 1: masking: shown has no key 'kept' (did you mean keep?); there are"),
        ("rule: tokens", "rule: words",
         "line 10: stage 1: masking: rule is 'words'; it must be one of tokens,"),
        ("rule: tokens,", "rule: tokens, max_ngram: 5,",
         "line 10: stage 1: masking: max_ngram is 5; it needs the rule ngrams, not tokens"),
        ("rule: tokens,", "whole_words: yes,",
         "line 10: stage 1: masking: whole_words is 'yes'; it must be true or false"),
        ("rate: 0.30,", "rate: 0,",
         "line 10: stage 1: masking: rate is 0, at which nothing is predicted; it must be above 0"),
        ("rate: 0.30,", "rate: {from: 0.3, to: 0},",
         "line 10: stage 1: masking: rate is 0, at which nothing is predicted"),
        ("objective: ", "objective: #", "line 6: objective has no value; give it one, or leave it"),
        ("  - tokens: 2e8", "  - tokens: 2e8\n    max_predictions_per_seq: 0",
         "line 13: stage 2: max_predictions_per_seq is 0; 1 to 65,535 is"),
        ("  - tokens: 2e8", "  - tokens: 2e8\n    num_buckets: 5",
         "line 13: stage 2: num_buckets is 5; it needs `batching=buckets`, not"),
        ("to: 1_048_576", "to: 1e12",
         "line 8: stage 1: batch_tokens: to is 1000000000000.0; 1 to 268,435,456 is allowed"),
        ("books: data/books", "a b: data/books",
         "line 3: stores has the name 'a b'; letters (a to z), digits, ., _ and - are allowed"),
        ("wiki: 0.7", "wiki: -0.7",
         "line 11: stage 1: mixture: wiki is -0.7; 0 to 1e+18 is allowed"),
        ("wiki: 0.7", "wki: 0.7",
         "line 11: stage 1: mixture has 'wki' (did you mean wiki?), which is none of the stores:"
         " wiki, books, c4-en"),
        ("{wiki: 0.7, books: 0.3}", "{wiki: 0, books: 0}",
         "line 11: stage 1: mixture has no number above 0; it must have one"),
        ("{wiki: 0.7, books: 0.3}", "[wiki]",
         "line 11: stage 1: mixture is ['wiki']; it must be a mapping of names"),
        ("c4-en: 0.3", "c4-en: a",
         "line 18: stage 2: mixture: c4-en is 'a'; a number, 0 to 1e+18, is"),
        ("max_seq_length: 8192", "rate: 0.1",
         "line 13: stage 2 has no key 'rate' (it is one of masking); there are tokens, steps,"),
        ("- tokens: 2e8", "- epochs: 2",
         "line 12: stage 2: epochs is 2; as the stage reads several stores, it must name the one"),
        ("- tokens: 2e8", "- epochs: {wiki: 0}",
         "line 12: stage 2: epochs has no number above 0; it"),
        ("- tokens: 2e8", "- epochs: {wiki: 1, books: 2}",
         "line 12: stage 2: epochs must name one store, whose passes end the stage"),
        ("[3, 4]", "[4, 3]", "line 19: skip has [4, 3]; the first batch comes first"),
        ("  - tokens: 2e8", "  - 7\n  - tokens: 2e8", "line 4: stage 2 is 7; it must be a mapping"),
        ("seed: 12345", "seed: 1\nseed: 2", "line 2: the key 'seed' occurs twice, first in line 1"),
        (WHOLE, "", "the file is empty; it must be a mapping with stores, stages, seed,"),
        (WHOLE, "- 1", "the file is [1]; it must be a mapping with stores, stages, seed,"),
        (WHOLE, "seed: 1", "line 1: the file has no stores; it needs one"),
    ],
)  # fmt: skip
def test_mistakes(read, was, now, sentence):
    assert was in WHOLE
    with pytest.raises(ValueError) as caught:
        read(WHOLE.replace(was, now, 1))
    assert str(caught.value).startswith(f"r.yaml: {sentence}")
    assert "\n" not in str(caught.value)


def test_the_guide_names_every_key(checkout):
    guide = (checkout / "docs" / "guides" / "recipes.md").read_text(encoding="utf-8")
    every = [field.name for each in (Recipe, Stage, StageMasking) for field in fields(each)]
    named = set(re.findall(r"^\| (`[^|]+`) \|", guide, re.MULTILINE))
    missing = set(every) - set(re.findall(r"\w+", " ".join(named)))
    assert not missing


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.yaml"):
        Recipe.from_file(tmp_path / "missing.yaml")
