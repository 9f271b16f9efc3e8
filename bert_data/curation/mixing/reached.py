"""Wanted and reached shares of a mixture, from the counts of its run.

counted: "all bytes of web/head", "bytes of web/head"     what there was, and what passes
"""

import dataclasses
import functools
import math
from collections.abc import Mapping

from bert_data.curation.document import Document
from bert_data.curation.mixing.plan import Plan
from bert_data.curation.table import Table, Value

DOCUMENTS, BYTES, WORDS, TOKENS = UNITS = ("documents", "bytes", "words", "tokens")
"""In which parts of a mixture are measured."""

_IN_DOCUMENT = {WORDS: "num_words", TOKENS: "num_tokens"}
_ALL = "all"
_TOLERANCE = 0.1
_MAX_NAMED = 10


def size_of(document: Document, unit: str) -> int:
    """Return the size of a document."""
    if unit == DOCUMENTS:
        return 1
    if unit == TOKENS:
        return document.known_sizes()["num_tokens"]  # a pipeline that counts them has counted
    return document.num_bytes if unit == BYTES else document.num_words


def count_document(document: Document, cell: str, num_copies: int, unit: str) -> dict[str, int]:
    """Return what a document adds to the counts: all sizes that are known, and the unit."""
    counted, known = {}, document.known_sizes()
    for each, (before, after) in _names_of(cell).items():
        name = _IN_DOCUMENT.get(each)
        if name is None or each == unit or name in known:
            size = size_of(document, each)
            counted[before], counted[after] = size, num_copies * size
    return counted


@functools.lru_cache(maxsize=1 << 14)
def _names_of(cell: str) -> dict[str, tuple[str, str]]:
    return {unit: (f"all {unit} of {cell}", f"{unit} of {cell}") for unit in UNITS}


@dataclasses.dataclass(frozen=True)
class Reached:
    """The counts of a mixture, by the names of its cells: a data set, or a bucket of one.

    Attributes:
      before: sizes of what there was, by unit; each has all cells.
      after: of what passes, with the same units and cells; 0 where nothing does.
    """

    before: Mapping[str, Mapping[str, int]]
    after: Mapping[str, Mapping[str, int]]


def read_counts(counted: Mapping[str, int]) -> Reached:
    """Return the counts that `count_document` made, of all documents; a missing count is 0."""
    parts = [name.removeprefix("all ").partition(" of ") for name in counted]
    units = {unit for unit, sign, _ in parts if sign and unit in UNITS}
    cells = dict.fromkeys(cell for unit, sign, cell in parts if sign and unit in UNITS)
    before, after = (
        {
            unit: {cell: counted.get(f"{prefix}{unit} of {cell}", 0) for cell in cells}
            for unit in units
        }
        for prefix in ("all ", "")
    )
    return Reached(before, after)


def shares(sizes: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each size; of nothing, nothing."""
    total = sum(sizes.values())
    return {name: size / total if total else 0.0 for name, size in sizes.items()}


def make_table(reached: Reached, unit: str, plan: Plan) -> Table:
    """Return a row for each cell, and one for all.

    Args:
      plan: what was meant, for the sizes that there were; its cells are the rows.
    """
    cells = list(plan.epochs)
    before, after = reached.before[unit], reached.after[unit]
    planned = sum(before[cell] * plan.epochs[cell] for cell in cells)
    columns = [("part", ""), ("epochs", "wanted"), ("epochs", "reached")]
    rows: list[list[Value]] = [
        [cell, plan.epochs[cell], _ratio(after[cell], before[cell])] for cell in cells
    ]
    total = sum(before.values())
    rows.append([_ALL, _ratio(planned, total), _ratio(sum(after.values()), total)])
    for each in _units_shown(reached, unit):
        columns += [(each, name) for name in ("reached", "share", "wanted")]
        before, after = reached.before[each], reached.after[each]
        share = shares(after)
        wanted = shares({cell: plan.wanted[cell] * before[cell] for cell in cells})
        for row, cell in zip(rows, cells, strict=False):
            row += [after[cell], share[cell], wanted[cell]]
        rows[-1] += [sum(after.values()), math.fsum(share.values()), math.fsum(wanted.values())]
    return Table(tuple(columns), tuple(map(tuple, rows)))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _units_shown(reached: Reached, unit: str) -> list[str]:
    """Return the units that are known; words only if they are the unit, or instead of tokens."""
    hidden = WORDS if TOKENS in reached.before and unit != WORDS else None
    return [each for each in UNITS if each in reached.before and each != hidden]


def describe_misses(reached: Reached, unit: str, plan: Plan, budget: float | None) -> str | None:
    """Name the shares of portions that are off by more than a tenth, and a budget that is."""
    before, after = reached.before[unit], reached.after[unit]
    wanted = _shares_of_portions(plan, {cell: plan.wanted[cell] * before[cell] for cell in before})
    planned = _shares_of_portions(plan, {cell: plan.epochs[cell] * before[cell] for cell in before})
    got = _shares_of_portions(plan, after)
    total = sum(after.values())
    sentences = [
        _name_misses(f"most_epochs holds down these shares of {unit}", wanted, planned),
        _name_misses(f"too few documents to reach these shares of {unit}", planned, got),
    ]
    if budget is not None and abs(total - budget) > _TOLERANCE * budget:
        sentences.append(f"the result has {total:,} {unit} instead of {budget:,.15g}")
    return "; ".join(filter(None, sentences)) or None


def describe_missed_epochs(reached: Reached, unit: str, plan: Plan) -> str | None:
    """Name the cells whose epochs, counted in the unit, are off by more than a tenth."""
    before, after = reached.before[unit], reached.after[unit]
    wanted = {cell: plan.epochs[cell] for cell in before if before[cell]}
    got = {cell: after[cell] / before[cell] for cell in wanted}
    return _name_misses(f"too few documents to reach these epochs of {unit}", wanted, got)


def _shares_of_portions(plan: Plan, sizes: Mapping[str, float]) -> dict[str, float]:
    return shares({name: sum(map(sizes.__getitem__, c)) for name, c in plan.portions.items()})


def _name_misses(what: str, wanted: Mapping[str, float], got: Mapping[str, float]) -> str | None:
    missed = [
        f"{name} has {got[name]:.4g} instead of {share:.4g}"
        for name, share in wanted.items()
        if abs(got[name] - share) > _TOLERANCE * share and any(got.values())
    ]
    more = f", and {len(missed) - _MAX_NAMED} more" if len(missed) > _MAX_NAMED else ""
    return f"{what}: {', '.join(missed[:_MAX_NAMED])}{more}" if missed else None
