"""The sequences of batches, and those that the definition says there are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_data.recipes.recipe import Stage
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.sequences.opened_stores import key_of_name
from bert_data.recipes.sequences.store_source import MASKS
from bert_data.records.masking.making_rule import masking_rule
from bert_data.records.objectives import OBJECTIVES
from tests.reader.oracle import bits, mask
from tests.recipes.oracle import Keys, deal, epoch_sequences
from tests.recipes.stores import FIRST_ID, ids_of

CLS, SEP = 2, 3
Row = tuple[Any, ...]
"""(ids, segment ids, positions, labels, label of the pair) of a sequence."""


def rows_of(batch: Mapping[str, np.ndarray]) -> list[Row]:
    """The sequences of a batch."""
    found = list[Row]()
    for row in range(batch["input_ids"].shape[0]):
        numbers = batch.get("instance_ids", batch["input_mask"])[row]
        real = batch["masked_lm_weights"][row] == 1
        positions, labels = (
            batch["masked_lm_positions"][row][real],
            batch["masked_lm_ids"][row][real],
        )
        for number in range(1, numbers.max(initial=0) + 1):
            at = np.flatnonzero(numbers == number)
            here = np.isin(positions, at)
            pair = batch.get("next_sentence_labels", np.zeros((row + 1, number)))[row][number - 1]
            ids, segments = batch["input_ids"][row][at], batch["segment_ids"][row][at]
            values = ids, segments, positions[here] - at[0], labels[here]
            found.append((*(tuple(each.tolist()) for each in values), int(pair)))
    return found


def masking_rule_of(run: Run, stage: Stage) -> Any:
    """The rule of a stage whose rate does not change; random words are no special tokens."""
    rule = masking_rule(
        stage.masking.config, run.vocabulary, max_seq_length=stage.max_seq_length,
        max_predictions_per_seq=stage.most_predictions, shown=stage.masking.shown,
    )  # fmt: skip
    return rule._replace(word_ids=np.arange(FIRST_ID, run.vocabulary.size, dtype=np.int32))


class Defined(NamedTuple):
    """A sequence of a stage, and the key of its masks."""

    a: list[int]
    b: list[int]
    label: bool
    key: int


def defined_sequences(
    run: Run, documents: Mapping[str, Sequence[Sequence[int]]]
) -> list[list[Defined]]:
    """The sequences of each stage in their order, before they are batched."""
    recipe, taken, epochs = run.recipe, Counter[Any](), dict[Any, Any]()
    ids = {name: ids_of(recipe.stores[name]) for name in documents}
    found = []
    for each in run.stages:
        stage, sequences = each.stage, list[Defined]()
        objective, room = OBJECTIVES.get(stage.objective), stage.max_seq_length - stage.num_special
        names = [source.opened.name for source in each.sources]
        weights = stage.mixture or {s.opened.name: float(s.num_sequences) for s in each.sources}
        dealt = deal(
            [weights[name] for name in names], each.num_sequences, recipe.seed, each.number, 32
        )
        for source in dealt:
            name = names[source]
            cut = name, objective, room
            epoch, place = divmod(taken[cut], each.sources[source].num_sequences)
            taken[cut] += 1
            keys = Keys(recipe.seed, key_of_name(name), epoch)
            if (cut, epoch) not in epochs:
                epochs[cut, epoch] = epoch_sequences(
                    documents[name], room, keys, objective=objective,
                    block=recipe.shuffle_block, window=recipe.window_of(len(names)),
                )  # fmt: skip
            drawn = epochs[cut, epoch][place]
            a, b = ([ids[name][t] for t in part] for part in (drawn.a, drawn.b))
            key = bits((keys.of(MASKS) + drawn.number) & (2**64 - 1))[1]
            sequences.append(Defined(a, b, drawn.label, key))
        found.append(sequences)
    return found


def defined_rows(run: Run, documents: Mapping[str, Sequence[Sequence[int]]]) -> list[list[Row]]:
    """The same as `rows_of` gives them."""
    found = []
    for each, sequences in zip(run.stages, defined_sequences(run, documents), strict=True):
        rule = masking_rule_of(run, each.stage)
        found.append([_as_masked(rule, each.stage, sequence) for sequence in sequences])
    return found


def _as_masked(rule: Any, stage: Stage, sequence: Defined) -> Row:
    a, b, label, key = sequence
    cls, sep = ([CLS], [SEP]) if stage.num_special else ([], [])
    tokens = cls + a + sep + (b + sep if b else [])
    segments = [0] * len(cls + a + sep) + [1] * (len(b) + 1 if b else 0)
    shown, positions, labels = mask(tokens, rule, key)
    return tuple(shown), tuple(segments), tuple(positions), tuple(labels), int(label)
