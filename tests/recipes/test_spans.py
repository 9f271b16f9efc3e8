"""Span corruption: T5's lengths, each token once, and the spans of the definition."""

import hashlib
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bert_data.recipes.recipe import Ramp, Recipe, Stage, StageMasking
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.run_batches import iterate_arrays
from bert_data.recipes.spans import count_noise, find_lengths, span_lengths
from tests.recipes.defined import SEP, defined_rows, rows_of
from tests.recipes.stores import ids_of, many_documents, recipe_of, write_vocabulary

T5_LENGTHS = "b35a241a15350a962c744fe3a55930ce21afd3e5ec9434b076daa807d0004dee"
"""sha256 of what T5's random_spans_helper gives for these lengths, densities and mean spans."""
INPUT_LENGTHS = (
    *(16, 17, 31, 32, 64, 100, 114, 127, 128, 200),
    *(256, 384, 511, 512, 513, 568, 1000, 1024, 2048, 4096),
)
RATES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75)
MEANS = (1.0, 2.0, 3.0, 4.5, 10.0)


def test_lengths_are_those_of_t5() -> None:
    cases = itertools.product(INPUT_LENGTHS, RATES, MEANS)
    found = [list(find_lengths(*case)) for case in cases]
    assert len(found) == 1000
    assert hashlib.sha256(json.dumps(found).encode()).hexdigest() == T5_LENGTHS
    assert find_lengths(512, 0.15, 3.0) == (568, 114)


def test_inputs_and_targets_always_fit() -> None:
    for case in itertools.product((8, 9, *INPUT_LENGTHS), (0.01, *RATES, 0.9), (*MEANS, 1000.0)):
        tokens, inputs, targets = span_lengths(*case)
        lengths = np.arange(1, tokens + 1)
        num_noise, num_spans = count_noise(lengths, *case[1:])
        assert (lengths - num_noise + num_spans + 1).max() <= inputs == case[0]
        assert (num_noise + num_spans + 1).max() == targets
        assert (num_spans <= np.maximum(1, np.minimum(num_noise, lengths - num_noise))).all()
        assert tokens >= inputs - 2
        if case[0] >= 256 and case[1] >= 0.05 and case[2] <= 10:
            assert tokens == find_lengths(*case)[0]


def recipe_with_sentinels(folder: Path, own: Stage, documents: Any = None) -> Recipe:
    """A recipe whose vocabulary ends with 20 ids that no store has."""
    recipe = recipe_of(folder, own, documents=documents)
    write_vocabulary(folder, 1020)
    return recipe


def stage(**settings: Any) -> Stage:
    masking = StageMasking(num_sentinels=20, **settings.pop("spans", {}))
    usual = {"epochs": {"a": 2}, "max_seq_length": 32, "batch_size": 4, "batching": "plain"}
    return Stage(**{**usual, "objective": "t5_spans", "masking": masking, **settings})


def pairs(recipe: Recipe, **hosts: int) -> list[tuple[list[int], list[int]]]:
    """The inputs and targets of each row of a recipe's batches, without padding."""
    found = []
    for batch in iterate_arrays(recipe, **hosts):
        assert sorted(batch) == ["input_ids", "input_mask", "target_ids", "target_mask"]
        for row in zip(*(batch[n] for n in sorted(batch)), strict=True):
            inputs, has_input, targets, has_target = row
            for ids, mask in ((inputs, has_input), (targets, has_target)):
                assert mask.tolist() == [1] * mask.sum() + [0] * (mask.size - mask.sum())
                assert not ids[mask.sum() :].any()
            if has_input.any():
                found.append((inputs[has_input > 0].tolist(), targets[has_target > 0].tolist()))
    return found


@pytest.mark.parametrize(
    "spans", [{}, {"rate": 0.5, "mean_span_length": 2.0}, {"rate": 0.9, "mean_span_length": 10.0}]
)
def test_batches_are_those_of_the_definition(tmp_path: Path, spans: dict) -> None:
    documents = {"a": many_documents(1), "b": many_documents(2, 25)}
    recipe = recipe_with_sentinels(tmp_path, stage(spans=spans), documents=documents)
    run = Run(recipe)
    found = [row for batch in iterate_arrays(recipe) for row in rows_of(batch)]
    assert len(found) == run.stages[0].num_sequences > 40
    assert [found] == defined_rows(run, documents)


def test_inputs_and_targets_together_are_the_store(tmp_path: Path) -> None:
    recipe = recipe_with_sentinels(
        tmp_path, stage(epochs={"a": 1}), documents={"a": many_documents(1)}
    )
    sentinels, stored = set(range(1000, 1020)), []
    for inputs, targets in pairs(recipe):
        assert inputs[-1] == targets[-1] == SEP
        spans = {}
        for token in targets[:-1]:
            if token in sentinels:
                spans[token] = last = []
            else:
                last.append(token)
        assert list(spans) == list(range(1019, 1019 - len(spans), -1))
        whole = [t for token in inputs[:-1] for t in spans.get(token, [token])]
        stored.append(whole)
    ids = ids_of(recipe.stores["a"])
    assert sum(map(len, stored)) == len(ids)
    assert Counter(itertools.chain(*stored)) == Counter(ids)


def test_full_sequences_fill_their_rows(tmp_path: Path) -> None:
    recipe = recipe_with_sentinels(
        tmp_path, stage(epochs={"a": 1}), documents={"a": many_documents(1)}
    )
    lengths = Counter((len(inputs), len(targets)) for inputs, targets in pairs(recipe))
    assert lengths[32, span_lengths(32, 0.15, 3.0).targets] >= lengths.total() - 2


def test_each_choice_of_spans_is_equally_likely(tmp_path: Path) -> None:
    """Of 10 tokens, 6 are noise in 3 spans: 3 ways to cut the 4 that stay, and 10 for the noise."""
    spans = {"rate": 0.6, "mean_span_length": 2.0}
    own = stage(epochs={"a": 1}, max_seq_length=8, spans=spans)
    recipe = recipe_with_sentinels(tmp_path, own, documents={"a": [[70]] * 300})
    assert Run(recipe).stages[0].stage.span_lengths == (10, 8, 10)
    counts = Counter[tuple[int, ...]]()
    for inputs, targets in pairs(recipe):
        if (len(inputs), len(targets)) == (8, 10):
            sentinels = (1019, 1018, 1017)
            counts[*map(inputs.index, sentinels), *map(targets.index, sentinels)] += 1
    assert len(counts) == 30
    assert counts.total() > 2000
    expected = counts.total() / 30
    assert sum((count - expected) ** 2 for count in counts.values()) / expected < 66


@pytest.mark.parametrize("batching", ["plain", "pools", "buckets"])
def test_rows_are_the_same_on_any_number_of_hosts(tmp_path: Path, batching: str) -> None:
    recipe = recipe_with_sentinels(tmp_path, stage(batching=batching))
    whole = sorted(pairs(recipe))
    for num_hosts in (2, 3):
        parts = [pairs(recipe, num_hosts=num_hosts, host_index=n) for n in range(num_hosts)]
        assert sorted(itertools.chain(*parts)) == whole


def test_sentinels_are_the_tokenizers_or_the_last_ids(tmp_path: Path) -> None:
    recipe = recipe_with_sentinels(tmp_path, stage())
    vocabulary = tmp_path / "vocab.txt"
    lines = vocabulary.read_text().splitlines()
    for n in range(10):
        lines[1000 + n] = f"<extra_id_{n}>"
    vocabulary.write_text("".join(f"{line}\n" for line in lines))
    named = Recipe(
        vocab_file=str(vocabulary), stores=recipe.stores, seed=7, shuffle_block=8,
        shuffle_window=32, stages=(Stage(
            epochs={"a": 2}, max_seq_length=32, batch_size=4, batching="plain",
            objective="t5_spans",
        ),),
    )  # fmt: skip
    moved = {1019 - n: 1000 + n for n in range(10)}
    wanted = [
        tuple([moved.get(token, token) for token in part] for part in pair)
        for pair in pairs(recipe)
    ]
    assert pairs(named) == wanted


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    recipe = recipe_with_sentinels(tmp_path, stage())
    own = {"epochs": {"a": 1}, "max_seq_length": 32, "batch_size": 4, "objective": "t5_spans"}

    def with_stage(**settings: Any) -> Recipe:
        stages = (Stage(**{**own, **settings}),)
        return Recipe(vocab_file=recipe.vocab_file, stores=recipe.stores, stages=stages)

    with pytest.raises(ValueError, match=r"needs 2 sentinels, <extra_id_0> .*vocab\.txt has none"):
        Run(with_stage())
    with pytest.raises(ValueError, match="for 32 tokens: num_sentinels is 1"):
        Run(with_stage(masking=StageMasking(num_sentinels=1)))
    with pytest.raises(ValueError, match="batching is packed; with t5_spans, plain, pools and"):
        with_stage(batching="packed")
    with pytest.raises(ValueError, match="rate has two ends; with t5_spans it must be one"):
        with_stage(masking=StageMasking(rate=Ramp(start=0.3, end=0.1)))
    with pytest.raises(ValueError, match=r"rate is 0\.95"):
        with_stage(masking=StageMasking(rate=0.95))
