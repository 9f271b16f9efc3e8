"""The sequences of a recipe's batch as items: what training reads at a step, masks and all."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bert_data.inspection.configs import BatchConfig
from bert_data.inspection.figures import share_text
from bert_data.inspection.sources.instances import MaskedSource
from bert_data.inspection.sources.items import Description, Item, Line, View
from bert_data.inspection.sources.stores import origin_of, show_origin
from bert_data.reader.layout import BatchArrays
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Place, Run
from bert_data.recipes.run_batches import iterate_placed
from bert_data.recipes.stage_run import Planned, StageRun
from bert_data.records import fields
from bert_data.tokens.verifying import open_provenance

_IDS, _SEGMENTS = fields.INPUT_IDS.name, fields.SEGMENT_IDS.name
_POSITIONS, _LABELS = fields.MASKED_LM_POSITIONS.name, fields.MASKED_LM_IDS.name
_MASK, _WEIGHTS = fields.INPUT_MASK.name, fields.MASKED_LM_WEIGHTS.name
_NEXT, _NUMBERS = fields.NEXT_SENTENCE_LABELS.name, fields.INSTANCE_IDS.name


def _open_at_step(path: str, step: int) -> tuple[Run, Place]:
    """Open the run of a recipe, and find a step of it.

    Raises:
      ValueError: the run ends before the step, or skips it.
    """
    run = Run(Recipe.from_file(path))
    place = run.place(step)
    if place.window == run.num_windows:
        raise ValueError(
            f"step is {step:,}; {path} has the {place.batch:,} steps from 0 to {place.batch - 1:,}"
        )
    if run.recipe.skips(step):
        raise ValueError(f"step is {step:,}, which {path} skips")
    return run, place


class RecipeBatchSource(MaskedSource):
    """The sequences of a batch, row after row."""

    def __init__(self, config: BatchConfig) -> None:
        """Draw the batch."""
        run, place = _open_at_step(config.recipe, config.step)
        window, planned, *_ = next(run.planned(place))
        stage = run.stages[window.stage]
        plan = planned.plan
        first, last = plan.batch_splits[place.in_window : place.in_window + 2].tolist()
        splits = np.arange(last + 1) if plan.row_splits is None else plan.row_splits
        numbers = plan.records[splits[first] : splits[last]]
        names = [source.opened.name for source in stage.sources]
        self._stores = [names[each] for each in planned.of_source[numbers].tolist()]
        self._documents = _documents_of(stage, planned, numbers.tolist())
        _, self._batch = next(iterate_placed(run, place))
        self.objective = stage.stage.asked
        self.vocab_path = run.recipe.vocab_file or run.recipe.tokenizer_file
        paths = [config.recipe, *run.recipe.input_files()]
        rate, _ = stage.rate_of_batch(window, place.in_window, plan.num_batches)
        super().__init__(_describe(self._batch, config.step, stage, rate), [config.recipe], paths)

    def stream(self) -> Iterator[Item]:
        """Yield the sequences in order."""
        sequences = (each for row in range(len(self._batch[_IDS])) for each in self._of_row(row))
        for number, (row, values) in enumerate(sequences):
            values |= {"store": self._stores[number], "documents": self._documents[number]}
            yield Item(number=number, path=self.names[0], place=row, fields=values)

    def _of_row(self, row: int) -> Iterator[tuple[int, dict[str, Any]]]:
        batch = {name: values[row] for name, values in self._batch.items() if values.ndim == 2}
        numbers = batch.get(_NUMBERS, batch[_MASK])
        is_real = batch[_WEIGHTS] > 0
        positions = batch[_POSITIONS][is_real].astype(np.int64)
        labels = batch[_LABELS][is_real].astype(np.int64)
        for sequence in range(int(numbers.max(initial=0))):
            places = np.flatnonzero(numbers == sequence + 1)
            own = slice(int(places[0]), int(places[-1]) + 1)
            is_own = (positions >= own.start) & (positions < own.stop)
            values: dict[str, Any] = {
                _IDS: batch[_IDS][own].astype(np.int64),
                _SEGMENTS: batch[_SEGMENTS][own].astype(np.int64),
                _POSITIONS: positions[is_own] - own.start,
                _LABELS: labels[is_own],
            }
            if _NEXT in batch:
                values[_NEXT] = int(batch[_NEXT][sequence])
            yield row, values

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return the lines of an instance, and where it is and is from."""
        lines: list[Line] = [("row", f"{item.place}, from {item.fields['store']}")]
        for each in item.fields["documents"]:
            named = f"{each['document']:,} of {each['prefix']}  {show_origin(each)}"
            lines.append(("document", named.rstrip()))
        return [*lines, *super().lines(item, view)]


def _documents_of(
    stage: StageRun, planned: Planned, numbers: Sequence[int]
) -> list[list[dict[str, Any]]]:
    """Return the documents that planned sequences have tokens of, and where they came from."""
    held = [list(dict.fromkeys(_held_by(stage, planned, number))) for number in numbers]
    known = dict[tuple[str, int], dict[str, Any]]()
    provenance = {
        part.prefix: open_provenance(part.prefix, part.store, part.notes)
        for source in stage.sources
        for part in source.opened.parts
    }
    for prefix, document in sorted({each for own in held for each in own}):
        origin = origin_of(provenance[prefix], document)
        known[prefix, document] = {"prefix": prefix, "document": document, **origin}
    return [[known[each] for each in own] for own in held]


def _held_by(stage: StageRun, planned: Planned, number: int) -> Iterator[tuple[str, int]]:
    """Yield the store of each document that a sequence has tokens of, and its number there."""
    opened = stage.sources[planned.of_source[number]].opened
    _, a_begin, a_length, b_begin, b_length, _ = (int(each[number]) for each in planned.drawn)
    for begin, length in ((a_begin, a_length), (b_begin, b_length)):
        if length:
            part = int(np.searchsorted(opened.splits, begin, side="right")) - 1
            first = begin - int(opened.splits[part])
            for document in opened.stores[part].documents_of(range(first, first + length)):
                yield opened.prefixes[part], document


def _describe(batch: BatchArrays, step: int, stage: StageRun, rate: float) -> Description:
    mask = batch[_MASK]
    num_tokens = int(mask.sum())
    rows, width = mask.shape
    return Description(
        kind=f"step {step:,}, in stage {stage.number + 1},",
        unit="sequence",
        settings={
            "next_sentence": stage.stage.objective,
            "batching": stage.stage.batching,
            "rows": f"{rows:,} of {width:,} tokens",
            "padding": share_text(1 - num_tokens / mask.size),
            "to predict": f"{int(batch[_WEIGHTS].sum()):,} of {num_tokens:,} tokens",
            "rate": share_text(rate),
        },
    )
