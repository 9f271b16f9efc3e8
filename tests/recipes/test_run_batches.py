"""Batches of recipes: against the definition, on any number of hosts, and from any place."""

import dataclasses
import hashlib
import itertools
import json
from collections import Counter

import numpy as np
import pytest

from bert_data.recipes.recipe import RECIPE_BATCHINGS, RECIPE_VERSION, Stage
from bert_data.recipes.recipe_run import Place, Run
from bert_data.recipes.run_batches import CU_SEQLENS, iterate_placed, iterate_recipe_arrays
from bert_data.recipes.stage_masking import Ramp, StageMasking
from bert_data.records.masking.rule import Shown
from tests.recipes.defined import defined_rows, rows_of
from tests.recipes.stores import (
    VOCAB,
    ids_of,
    many_documents,
    recipe_of,
    write_sentences,
    write_vocabulary,
)
from tests.rows import mostly_slow

COVERS = (
    "recipes/sequence_masks",
    "recipes/fill_kernels",
    "recipes/stage_run",
    "recipes/window_filler",
)


def stage(**settings) -> Stage:
    return Stage(**{"epochs": {"a": 2}, "max_seq_length": 32, "batch_size": 4, **settings})


def all_rows(recipe, **hosts) -> list[tuple]:
    return [row for batch in iterate_recipe_arrays(recipe, **hosts) for row in rows_of(batch)]


@mostly_slow("objective", ["nsp", "sop", "none", "tokens"])
@mostly_slow(
    "masking",
    [
        StageMasking(rate=0.3),
        StageMasking(rate=0.2, whole_words=True, shown=Shown(0.5, 0.3, 0.2)),
        StageMasking(rule="spans"),
        StageMasking(rule="ngrams", max_ngram=2),
    ],
    ids=["tokens", "words", "spans", "ngrams"],
)
def test_plain_batches_are_those_of_the_definition(tmp_path, objective, masking):
    documents = {"a": many_documents(1), "b": many_documents(2, 25)}
    own = stage(objective=objective, masking=masking, batching="plain")
    recipe = recipe_of(tmp_path, own, documents=documents)
    for name, lengths in documents.items():
        write_sentences(tmp_path / name, lengths, has_special=True)
    rows = all_rows(recipe)
    run = Run(recipe)
    labels = {label for row in rows for label in row[3]}
    assert {run.vocabulary.tokens[label] for label in labels} & {*VOCAB} == {"[UNK]"}
    assert len(rows) == run.stages[0].num_sequences > 100
    assert [rows] == defined_rows(run, documents)


@pytest.mark.parametrize("whole_words", [False, True])
def test_random_words_are_no_special_tokens(tmp_path, whole_words):
    """Of eight words beside five special tokens."""
    shown = Shown(mask=0.0, random=1.0, keep=0.0)
    masking = StageMasking(rate=0.5, shown=shown, whole_words=whole_words)
    recipe = recipe_of(tmp_path, stage(masking=masking, objective="none"))
    for name in ("a", "b"):
        write_sentences(tmp_path / name, many_documents(1), vocab_size=13)
    write_vocabulary(tmp_path, 13)
    words = Counter(
        ids[position] for ids, _, positions, _, _ in all_rows(recipe) for position in positions
    )
    assert words.keys() == set(range(5, 13))
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in VOCAB))
    with pytest.raises(ValueError, match=r"vocab\.txt has special tokens alone; masking needs"):
        Run(recipe)


@mostly_slow("objective", ["nsp", "none", "tokens"])
@mostly_slow("batching", RECIPE_BATCHINGS)
def test_batches_are_the_same_on_any_number_of_hosts(tmp_path, batching, objective):
    recipe = recipe_of(tmp_path, stage(batching=batching, objective=objective))
    whole = [Counter(rows_of(batch)) for batch in iterate_recipe_arrays(recipe)]
    for num_hosts in (2, 3, 7) if objective == "none" else (3,):
        hosts = [
            list(iterate_recipe_arrays(recipe, num_hosts=num_hosts, host_index=host))
            for host in range(num_hosts)
        ]
        steps = list(zip(*hosts, strict=True))
        assert [sum((Counter(rows_of(b)) for b in step), Counter()) for step in steps] == whole
        for step, rows in zip(steps, whole, strict=True):
            if rows.total() >= 4 * num_hosts:
                assert all(batch["masked_lm_weights"].any() for batch in step)
        if batching != "flat":
            for name, step in itertools.product(("input_ids", "masked_lm_ids"), steps):
                assert len({batch[name].shape for batch in step}) == 1


@mostly_slow("batching", RECIPE_BATCHINGS)
def test_a_run_goes_on_from_any_batch(tmp_path, batching):
    first = stage(
        batching=batching, batch_tokens=Ramp(start=64, end=256, over=4000), batch_size=None
    )
    second = Stage(tokens=3000, batching="plain", objective="tokens", max_seq_length=16)
    recipe = recipe_of(tmp_path, first, second)
    run = Run(recipe)
    placed = list(iterate_placed(run))
    assert [place.batch for place, _ in placed] == list(range(len(placed)))
    for start in {0, 1, len(placed) // 3, len(placed) - 7, len(placed) - 1}:
        place = placed[start][0]
        assert run.place(start) == place
        later = list(iterate_placed(Run(recipe), place))
        assert [each for each, _ in later] == [each for each, _ in placed[start:]]
        for (_, batch), (_, expected) in zip(later, placed[start:], strict=True):
            assert batch.keys() == expected.keys()
            for name, values in expected.items():
                np.testing.assert_array_equal(batch[name], values)
    assert run.place(len(placed)).window == run.num_windows
    assert not list(iterate_placed(run, run.place(len(placed))))


@pytest.mark.parametrize("batching", RECIPE_BATCHINGS)
def test_stages_go_on_in_an_epoch_that_is_read_once(tmp_path, batching):
    """The second stage masks more, and has other batches, but cuts alike."""
    first = stage(epochs={"a": 0.4}, objective="none", batching=batching, mixture={"a": 1})
    rest = Stage(epochs={"a": 0.6}, batch_size=7, masking=StageMasking(rate=0.5))
    recipe = recipe_of(tmp_path, first, rest)
    ids = Counter(ids_of(recipe.stores["a"]))
    rows = all_rows(recipe)
    read = Counter()
    for shown, _, positions, labels, _ in rows:
        tokens = list(shown)
        for position, label in zip(positions, labels, strict=True):
            tokens[position] = label
        read.update(token for token in tokens if token > 4)
    assert read == ids


def test_padding_and_flat_rows(tmp_path):
    documents = {"a": many_documents(3, 500)}
    recipe = recipe_of(
        tmp_path, stage(batching="flat", batch_size=8, objective="none"), documents=documents,
        shuffle_window=4096,
    )  # fmt: skip
    sizes = []
    for batch in iterate_recipe_arrays(recipe):
        assert batch["input_ids"].shape[0] == 1
        assert batch["input_mask"].all()
        starts = batch[CU_SEQLENS]
        assert starts[-1] == batch["input_ids"].size
        begins = np.flatnonzero(batch["position_ids"][0] == 0)
        assert starts[:-1].tolist() == begins.tolist()
        assert (batch["input_ids"][0][starts[:-1]] == 2).all()
        sizes.append(batch["input_ids"].size)
    assert max(sizes) <= 8 * 32
    assert np.mean(sizes[:-2]) > 0.98 * 8 * 32


def test_each_rate_and_number_of_rows_of_a_ramp(tmp_path):
    masking = StageMasking(rate=Ramp(start=0.5, end=0.1))
    ramp = Ramp(start=64, end=320, over=6000)
    own = stage(
        tokens=12_000, epochs=None, batch_size=None, batch_tokens=ramp, masking=masking,
        batching="plain", pool_batches=2, objective="tokens",
    )  # fmt: skip
    batches = list(iterate_recipe_arrays(recipe_of(tmp_path, own)))
    rows = [batch["input_ids"].shape[0] for batch in batches]
    assert rows == sorted(rows)
    assert (rows[0], rows[-1]) == (2, 10)
    assert len(set(rows)) > 4
    rates = [b["masked_lm_weights"].sum() / b["input_mask"].sum() for b in batches]
    assert rates[0] == pytest.approx(0.5, abs=0.03)
    assert rates[-1] == pytest.approx(0.1, abs=0.03)
    assert rates == sorted(rates, reverse=True) or max(np.diff(rates)) < 0.06
    assert sum(int(b["input_mask"].sum()) for b in batches) == pytest.approx(12_000, rel=0.05)


@pytest.mark.parametrize("batching", RECIPE_BATCHINGS)
def test_a_rate_also_changes_in_a_window(tmp_path, batching):
    masking = StageMasking(rate=Ramp(start=0.5, end=0.1))
    own = stage(masking=masking, batching=batching, objective="tokens")
    recipe = recipe_of(tmp_path, own)
    run = Run(recipe)
    assert run.num_windows == 1
    batches = list(iterate_recipe_arrays(recipe))
    rates = [b["masked_lm_weights"].sum() / b["input_mask"].sum() for b in batches]
    expected = [0.5 - 0.4 * number / len(batches) for number in range(len(batches))]
    np.testing.assert_allclose(rates, expected, atol=0.05)
    for number in (1, len(batches) // 2, len(batches) - 1):
        (later, *_) = iterate_recipe_arrays(recipe, start_batch=number)
        assert rows_of(later) == rows_of(batches[number])


def test_the_number_of_steps_is_that_asked_for(tmp_path):
    for batching, size in itertools.product(("plain", "pools", "buckets"), (None, 4)):
        budget = None if size else Ramp(start=64, end=320, over=3000)
        own = stage(steps=37, epochs=None, batching=batching, batch_size=size, batch_tokens=budget)
        assert len(list(iterate_recipe_arrays(recipe_of(tmp_path, own)))) == 37


@mostly_slow("batching", ["packed", "flat"])
@mostly_slow("is_long", [False, True])
def test_packed_stages_have_the_steps_asked_for(tmp_path, batching, is_long):
    """Some windows are cut off, others made longer; a place is found whatever lies before it."""
    documents = {"a": many_documents(1), "b": [[31]] * 300} if is_long else None
    counted = stage(tokens=3000, epochs=None, batching=batching, objective="none")
    by_steps = dataclasses.replace(counted, tokens=None, steps=270, mixture={"a": 5, "b": 1})
    recipe = recipe_of(
        tmp_path, counted, by_steps, Stage(steps=23, mixture={"b": 1}), documents=documents
    )
    run = Run(recipe)
    assert [each.num_batches for each in run.stages] == [None, 270, 23]
    placed = list(iterate_placed(run))
    of_stages = Counter(run.stage_of(place.window).number for place, _ in placed)
    assert (of_stages[1], of_stages[2]) == (270, 23)
    assert [place.batch for place, _ in placed] == list(range(of_stages[0] + 293))
    assert all(batch["input_mask"].any() for _, batch in placed)
    for start in (0, 3, of_stages[0], of_stages[0] + 5, of_stages[0] + 258, of_stages[0] + 270):
        place = run.place(start)
        assert place == placed[start][0]
        for (_, batch), (_, expected) in zip(
            iterate_placed(run, place), placed[start:], strict=True
        ):
            np.testing.assert_array_equal(batch["input_ids"], expected["input_ids"])


def test_skipped_batches_move_no_others(tmp_path):
    own = stage(batching="pools")
    whole = dict(iterate_placed(Run(recipe_of(tmp_path, own))))
    recipe = recipe_of(tmp_path, own, skip=((2, 4), (9, 9)))
    rest = dict(iterate_placed(Run(recipe)))
    left_out = {2, 3, 4, 9}
    assert [p.batch for p in rest] == [p.batch for p in whole if p.batch not in left_out]
    for place, batch in rest.items():
        for name, values in batch.items():
            np.testing.assert_array_equal(values, whole[place][name])


def test_ranges_that_are_skipped_may_overlap(tmp_path):
    ranges = [(9, 12), (3, 3), (4, 6), (10, 11), (20, 21), (12, 14)]
    recipe = recipe_of(tmp_path, stage(), skip=tuple(ranges))
    assert recipe.skipped == [(3, 6), (9, 14), (20, 21)]
    for batch in range(25):
        assert recipe.skips(batch) == any(first <= batch <= last for first, last in ranges)


def test_a_recipe_that_skips_all_batches_is_refused(tmp_path):
    recipe = recipe_of(tmp_path, stage(), skip=((0, 10**9),))
    with pytest.raises(ValueError, match="skip leaves out all batches of the recipe"):
        next(iterate_recipe_arrays(recipe))
    start = Run(recipe).place(10**9)  # the end, where nothing is left in any case
    assert list(iterate_placed(Run(recipe), start)) == []


def test_a_place_behind_a_hundred_billion_sequences(tmp_path):
    own = stage(batching="pools", objective="tokens", epochs={"a": 10**9}, batch_size=64)
    run = Run(recipe_of(tmp_path, own))
    total = run.stages[0].num_sequences
    assert total > 10**11
    start = total // 64 - 3
    place = run.place(start)
    batches = list(iterate_placed(run, place))
    assert [each.batch for each, _ in batches] == list(range(start, -(-total // 64)))
    assert place == Place(start, start // 256, start % 256)


def test_a_store_of_a_larger_vocabulary_is_refused(tmp_path):
    """It has no notes that would tell."""
    recipe = recipe_of(tmp_path, stage(batching="pools"))
    write_vocabulary(tmp_path, 200)
    with pytest.raises(ValueError, match=r"/[ab] has an id that is not below 200, .*vocab\.txt"):
        list(iterate_recipe_arrays(recipe))


ORDERS = {2: "bc32ce4946f8a421"}
"""A digest of the batches of each version; a change of a released one is a new version."""


def test_a_version_has_one_order(tmp_path):
    batches = []
    for batching, objective in itertools.product(
        RECIPE_BATCHINGS, ("nsp", "sop", "none", "tokens")
    ):
        recipe = recipe_of(tmp_path, stage(batching=batching, objective=objective))
        batches += [rows_of(batch) for batch in iterate_recipe_arrays(recipe)]
    digest = hashlib.sha256(json.dumps(batches).encode()).hexdigest()[:16]
    assert digest == ORDERS[RECIPE_VERSION]
