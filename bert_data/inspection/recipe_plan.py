"""Say what a recipe reads before it is trained: sequences, tokens, batches, passes over each store.

The sequences of a stage are known; the rest is counted by planning its windows, or some of them if
there are many. Only lengths are read, no tokens.
"""

import bisect
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bert_data.inspection.figures import share_text
from bert_data.inspection.terminal import StyledText, Terminal
from bert_data.recipes.recipe import FLAT, PACKED, Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.recipe_source import count_batches
from bert_data.recipes.stage_run import Planned, StageRun, Window

MOST_EPOCHS = 4
"""More passes teach little (Muennighoff et al. 2023, arXiv 2305.16264)."""

_MOST_STORES = 20  # that are shown
_MOST_WARNINGS = 5
_LEAST_SHARE = 0.4  # of labels 0 of pairs


@dataclasses.dataclass(frozen=True, kw_only=True)
class StorePlan:
    """A stage's share of a store.

    Attributes:
      share: of the sequences of the stage.
      epochs: passes over the store.
    """

    name: str
    share: float
    num_sequences: int
    epochs: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class StagePlan:
    """The plan of a stage.

    Attributes:
      rows: of its first and of its last batch.
      rates: share of tokens to predict, at its beginning and its end.
      is_counted: whether the numbers are exact; otherwise some windows stand for all.
      num_batches: of all hosts together, as the numbers below.
      num_read: tokens of the stores.
      num_tokens: padding left out.
      num_positions: padding included.
      num_predictions: at most.
      share_of_ones: of the labels of pairs; None where there are none.
    """

    end: str
    objective: str
    max_seq_length: int
    batching: str
    rows: tuple[int, int]
    rates: tuple[float, float]
    num_sequences: int
    is_counted: bool
    num_batches: int
    num_read: int
    num_tokens: int
    num_positions: int
    num_predictions: int
    share_of_ones: float | None
    stores: tuple[StorePlan, ...]

    @property
    def padding(self) -> float:
        """The share of positions that are padding."""
        return 1 - self.num_tokens / self.num_positions


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecipePlan:
    """The plan of a recipe, stage by stage.

    Attributes:
      epochs: passes over each store, in all stages together.
    """

    stages: tuple[StagePlan, ...]
    epochs: dict[str, float]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        stages = [{**dataclasses.asdict(each), "padding": each.padding} for each in self.stages]
        return {"stages": stages, "epochs": self.epochs, "warnings": list(self.warnings)}


def plan_recipe(recipe: Recipe, max_sequences: int) -> RecipePlan:
    """Plan the stages of a recipe; see `PlanRecipeConfig`."""
    run = Run(recipe)
    stages = tuple(_plan_stage(stage, max_sequences) for stage in run.stages)
    epochs = dict.fromkeys(recipe.stores, 0.0)
    for store in (store for stage in stages for store in stage.stores):
        epochs[store.name] += store.epochs
    return RecipePlan(
        stages=stages, epochs=epochs, warnings=tuple(_warnings(recipe, stages, epochs))
    )


def _warnings(
    recipe: Recipe, stages: Sequence[StagePlan], epochs: dict[str, float]
) -> Iterator[str]:
    if recipe.skip:
        total = sum(stage.num_batches for stage in stages)
        number = total - count_batches(recipe, 0, total)
        yield f"skip leaves out {number:,} of the {total:,} batches; all are counted here"
    for number, (said, stage) in enumerate(zip(recipe.stages, stages, strict=True), 1):
        if stage.batching == PACKED and said.asked.num_segments == 2:
            yield (
                f"stage {number}: {share_text(stage.padding)} of what it reads is padding, as pairs"
                f" ({stage.objective}) cannot be cut to fill rows; `batching: pools` leaves 1 to 3%"
            )
        ones = stage.share_of_ones
        if ones is not None and 1 - ones < _LEAST_SHARE:
            yield (
                f"stage {number}: {share_text(ones)} of the pairs ({stage.objective}) have the"
                " label 1: a sequence of a single sentence gets its second segment from another"
                " one; with a larger max_seq_length, fewer do"
            )
    unread = [name for name, number in epochs.items() if not number]
    if unread:
        yield f"no stage reads {_some(unread)}"
    worn = {name: number for name, number in epochs.items() if number > MOST_EPOCHS}
    by_epochs = sorted(worn, key=lambda name: -worn[name])
    if worn:
        told = _some([f"{name} ({worn[name]:,.1f})" for name in by_epochs])
        yield f"more than {MOST_EPOCHS} epochs of {told}; more than that teach little"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_WARNINGS:,} more" if len(names) > _MOST_WARNINGS else ""
    return ", ".join(names[:_MOST_WARNINGS]) + more


def _plan_stage(run: StageRun, max_sequences: int) -> StagePlan:
    stage = run.stage
    is_counted = run.num_sequences <= max_sequences
    windows: Iterable[tuple[Window, Planned, float]] = _some_windows(run, max_sequences)
    if is_counted:
        windows = ((w, planned, 1.0) for w, planned, _ in run.windows(0, 0, run.num_batches))
    counts, weights, num_rows = [], [], []
    for window, planned, weight in windows:
        counts.append(_count(run, window, planned))
        weights.append(weight)
        num_rows.append(planned.plan.num_batches * window.rows)
    *sums, ones, num_labels = np.rint(np.array(weights) @ counts).astype(np.int64).tolist()
    if run.num_batches is not None:
        if run.ends_in_window:
            sums = [round(count * run.num_batches / sums[0]) for count in sums]
        sums[0] = run.num_batches
    elif not is_counted:
        rows_a_sequence = float(np.array(weights) @ np.array(num_rows)) / run.num_sequences
        sums[0] = _judge_batches(run, rows_a_sequence)
    first, last = run.window(0), run.window(run.num_windows - 1)
    ends = {name: getattr(stage, name) for name in ("tokens", "steps", "epochs")}
    taken = run.dealer.counts(run.num_sequences)
    return StagePlan(
        end=next(_end(name, value) for name, value in ends.items() if value is not None),
        objective=stage.objective or "",
        max_seq_length=stage.max_seq_length,
        batching=stage.batching or "",
        rows=(1, 1) if stage.batching == FLAT else (first.rows, last.rows),
        rates=(run.rate(0), run.rate(run.num_sequences)),
        num_sequences=run.num_sequences,
        is_counted=is_counted,
        num_batches=sums[0],
        num_read=sums[1],
        num_tokens=sums[2],
        num_positions=sums[3],
        num_predictions=sums[4],
        share_of_ones=None if stage.asked.label is None else ones / num_labels,
        stores=tuple(
            StorePlan(
                name=source.opened.name,
                share=share,
                num_sequences=count,
                epochs=count / source.num_sequences,
            )
            for source, share, count in zip(run.sources, run.shares, taken, strict=True)
        ),
    )


def _end(name: str, value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:,.6g} {name}"
    return " and ".join(f"{number:,.6g} {name} of {store}" for store, number in value.items())


def _some_windows(run: StageRun, max_sequences: int) -> Iterator[tuple[Window, Planned, float]]:
    """Yield windows at even distances, each with how many of its like there are in the stage."""
    count = max(1, run.num_windows * max_sequences // run.num_sequences)
    for number in range(count):
        place = (2 * number + 1) * run.num_sequences // (2 * count)
        number = bisect.bisect(range(run.num_windows), place, key=lambda n: run.window(n).first)
        window = run.window(number - 1)
        planned = run.planned(window)
        num_used = window.last - window.first - planned.left
        yield window, planned, run.num_sequences / count / max(1, num_used)


def _judge_batches(run: StageRun, rows_a_sequence: float) -> int:
    """Return about how many batches there are, where rows hold several sequences."""
    numbers = range(run.num_windows)
    last = run.window(numbers[-1])
    steady = bisect.bisect_left(numbers, True, key=lambda n: run.window(n).rows == last.rows)
    growing = map(run.window, range(steady))
    batches = sum((window.last - window.first) / window.rows for window in growing)
    batches += (run.num_sequences - run.window(steady).first) / last.rows
    return round(rows_a_sequence * batches)


def _count(run: StageRun, window: Window, planned: Planned) -> tuple[int, ...]:
    """Return a window's batches, tokens of stores, tokens, positions, predictions, ones, labels."""
    stage, plan, drawn = run.stage, planned.plan, planned.drawn
    lengths = planned.lengths[plan.records]
    num_read = int((drawn.a_lengths + drawn.b_lengths)[plan.records].sum(dtype=np.int64))
    num_tokens, num_positions = int(lengths.sum()), int(plan.widths.sum(dtype=np.int64))
    return (
        plan.num_batches,
        num_read,
        num_tokens,
        num_tokens if stage.batching == FLAT else num_positions * window.rows,
        sum(_count_predictions(run, window, planned)),
        int(drawn.labels[plan.records].sum(dtype=np.int64)),
        plan.records.size,
    )


def _count_predictions(run: StageRun, window: Window, planned: Planned) -> Iterator[int]:
    stage, plan, begin = run.stage, planned.plan, 0
    while begin < plan.num_batches:
        rate, end = run.rate_of_batch(window, begin, plan.num_batches)
        first, last = plan.batch_splits[[begin, end]]
        if plan.row_splits is not None:
            first, last = plan.row_splits[[first, last]]
        config = dataclasses.replace(stage.masking.config, masked_lm_prob=rate)
        lengths = planned.lengths[plan.records[first:last]]
        predictions = np.minimum(config.num_to_predict(lengths), stage.most_predictions)
        yield int(predictions.sum(dtype=np.int64))
        begin = end


def show_recipe_plan(output: Terminal, plan: RecipePlan) -> None:
    """Show what a recipe reads."""
    settings = [_settings_of(number, stage) for number, stage in enumerate(plan.stages, 1)]
    head = ("stage", "until", "objective", "length", "batching", "rows", "rate")
    output.table(head, settings, is_text=(0, 1, 2, 4))
    output.heading("Batches")
    counts = [_counts_of(number, stage) for number, stage in enumerate(plan.stages, 1)]
    names = ("stage", "sequences", "batches", "tokens", "padding", "to predict")
    output.table(names, counts)
    if not all(stage.is_counted for stage in plan.stages):
        output.paragraph(StyledText("~: judged by some of the sequences", "faint"))
    _show_stores(output, plan)
    for warning in plan.warnings:
        output.paragraph(StyledText(warning, "warning"))


def _settings_of(number: int, stage: StagePlan) -> Sequence[str]:
    return (
        str(number),
        stage.end,
        stage.objective,
        f"{stage.max_seq_length:,}",
        stage.batching,
        "-".join(dict.fromkeys(f"{rows:,}" for rows in stage.rows)),
        "-".join(dict.fromkeys(share_text(rate) for rate in stage.rates)),
    )


def _counts_of(number: int, stage: StagePlan) -> Sequence[str]:
    about = "" if stage.is_counted else "~"
    return (
        str(number),
        f"{stage.num_sequences:,}",
        f"{about if stage.batching in (PACKED, FLAT) else ''}{stage.num_batches:,}",
        f"{about}{stage.num_tokens:,}",
        f"{about}{share_text(stage.padding)}",
        f"{about}{stage.num_predictions:,}",
    )


def _show_stores(output: Terminal, plan: RecipePlan) -> None:
    output.heading("Stores")
    shown = list(plan.epochs)
    if len(shown) > _MOST_STORES:
        shown = sorted(shown, key=lambda name: -plan.epochs[name])[:_MOST_STORES]
    of_stages = [{store.name: store for store in stage.stores} for stage in plan.stages]
    rows = []
    for name in shown:
        parts = [f"{s[name].epochs:,.2f} ({share_text(s[name].share)})" if name in s else "-"
                 for s in of_stages]  # fmt: skip
        rows.append((name, *parts, f"{plan.epochs[name]:,.2f}"))
    stages = [f"stage {number}" for number in range(1, len(plan.stages) + 1)]
    output.table(("store", *stages, "epochs"), rows)
    rest = sorted(plan.epochs.values(), reverse=True)[len(shown) :]
    if rest:
        output.paragraph(f"and {len(rest):,} more, {rest[-1]:,.2f} to {rest[0]:,.2f} epochs each")
