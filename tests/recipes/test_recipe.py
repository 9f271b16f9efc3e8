"""Recipes: what stages take over from those before them, and what is refused."""

import dataclasses

import pytest

from bert_data.recipes.recipe import FIRST, Recipe, Stage
from bert_data.recipes.stage_masking import Ramp, StageMasking

COVERS = ("recipes/stage_masking",)

STORES = {"wiki": "a", "books": "b"}


def recipe(*stages, **changes):
    return Recipe(**{"vocab_file": "v.txt", "stores": STORES, "stages": stages, **changes})


def test_a_stage_takes_over_what_it_does_not_say():
    first = Stage(steps=10, batch_size=8, masking=StageMasking(rule="spans", rate=0.2))
    second = Stage(tokens=1e6, mixture={"wiki": 1}, masking=StageMasking(whole_words=True))
    third = Stage(epochs=2, batch_tokens=4096, max_seq_length=512)
    one, two, three = recipe(first, second, third).stages
    assert (one.objective, one.max_seq_length, one.pool_batches) == ("none", 128, 64)
    assert one.masking == dataclasses.replace(FIRST.masking, rule="spans", rate=0.2)
    assert (two.steps, two.tokens, two.batch_size) == (None, 1e6, 8)
    assert two.masking == dataclasses.replace(one.masking, whole_words=True)
    assert (three.batch_size, three.batch_tokens, three.max_seq_length) == (None, 4096, 512)
    assert (three.mixture, three.masking) == (two.mixture, two.masking)


def test_after_a_ramp_its_end_stays():
    ramps = Stage(
        tokens=1e6,
        batch_tokens=Ramp(start=1024, end=8192),
        masking=StageMasking(rate=Ramp(start=0.3, end=0.1)),
    )
    _, second, third = recipe(
        ramps, Stage(tokens=1), Stage(tokens=1, masking=StageMasking(rule="spans"))
    ).stages
    assert second.batch_tokens == third.batch_tokens == 8192
    assert second.masking.rate == third.masking.rate == 0.1
    assert ramps.masking.rate.at(0.25) == pytest.approx(0.25)
    assert ramps.masking.rate.at(2) == 0.1


def test_a_complete_recipe_may_be_changed():
    ngrams = StageMasking(rule="ngrams", max_ngram=5)
    first = Stage(steps=3, batch_size=8, masking=ngrams)
    made = recipe(first, Stage(steps=3, masking=StageMasking(rule="tokens")))
    changed = dataclasses.replace(made, seed=5)
    assert changed.stages == made.stages
    assert changed.stages[0].masking.config.max_ngram == 5
    assert changed.stages[1].masking.config.max_ngram == 3


def test_a_digest_is_of_past_stages_and_their_stores():
    stages = [
        Stage(steps=3, batch_size=8, mixture={"wiki": 1}),
        Stage(steps=4, mixture={"books": 1}),
    ]
    made, other = recipe(*stages), recipe(stages[0], Stage(steps=5, mixture={"books": 1}))
    assert made.digest(1) == other.digest(1)
    assert made.digest(2) != other.digest(2)
    assert made.digest(1) != recipe(*stages, seed=1).digest(1)
    assert made.digest(1) == recipe(*stages, stores={"wiki": "moved", "books": "b"}).digest(1)
    turned = recipe(*stages, stores={"books": "b", "wiki": "w"})  # and so dealt otherwise
    assert made.digest(2) != turned.digest(2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"batching": "all"}, "batching is 'all'; it must be one of plain, pools, buckets, packed"),
        ({"mixture": {"wiki": "x"}}, "mixture: wiki is 'x'; a number, 0 to 1e+18, is allowed"),
        ({"epochs": -1}, "epochs is -1; 0 to 1e+18 is allowed"),
        (
            {"batch_tokens": Ramp(start=0, end=9)},
            "batch_tokens: from is 0; 1 to 268,435,456 is allowed",
        ),
    ],
)
def test_what_a_stage_refuses(changes, sentence):
    with pytest.raises(ValueError) as caught:
        Stage(**changes)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [
        ({}, "stage 1: it needs one of batch_size and batch_tokens"),
        ({"batch_size": 8, "batch_tokens": 1024}, "stage 1: it needs one of batch_size and"),
        ({"batch_tokens": 127}, "stage 1: batch_tokens is 127; at least a row, 128 by max"),
        ({"batch_tokens": Ramp(start=128, end=512)},
         "stage 1: batch_tokens has no over, the tokens until its end; a stage that does not"),
        ({"batch_tokens": Ramp(start=128, end=512, over=9), "batching": "flat"},
         "stage 1: batch_tokens has two ends; with steps and flat it must be one number"),
    ],
)  # fmt: skip
def test_what_a_recipe_refuses(stage, sentence):
    with pytest.raises(ValueError) as caught:
        recipe(Stage(steps=3, **stage))
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"stages": ()}, "stages is (); it must not be empty"),
        ({"stores": {}}, "stores must be 1 to 32,766 names and their token stores"),
        ({"stores": {"wiki": ""}}, "stores: wiki is ''; it must not be empty"),
        ({"tokenizer_file": "t.json"}, "the recipe needs one of vocab_file and tokenizer_file"),
        ({"skip": ((-1, 2),)}, "skip 1 is -1; 0 to 1e+18 is allowed"),
        ({"skip": ((1, 2), (3, 10**19))}, "skip 2 is 10000000000000000000; 0 to 1e+18 is allowed"),
        ({"skip": ((1, 2), (3, True))}, "skip 2 is True; an integer, 0 to 1e+18, is allowed"),
        ({"skip": ((1, 2), (3, 4.5))}, "skip 2 is 4.5; an integer, 0 to 1e+18, is allowed"),
        ({"skip": ((1, 2), (3,))}, "skip 2 is (3,); it must be [an integer, an integer]"),
    ],
)
def test_what_is_refused_of_the_whole(changes, sentence):
    with pytest.raises(ValueError) as caught:
        recipe(Stage(steps=3, batch_size=8), **changes)
    assert str(caught.value).startswith(sentence)


def test_a_sentence_names_a_dozen_of_many_stores():
    stores = {f"store{number}": "a" for number in range(100)}
    with pytest.raises(ValueError, match=r"none of the stores: store0, .*store11 and 88 more$"):
        recipe(Stage(steps=3, batch_size=8, mixture={"all": 1}), stores=stores)
