"""A mixture: its parameters become epochs, and its counts become what was reached.

{"web": {"head": 3}, "wiki": 2}, ["web/head:3", "wiki:2"]  ->  {"web/head": 3, "wiki": 2}
entry_of_bucket(those, "web", "head")  ->  "web/head"      "*/head" is the head of every data set
Mix(weights={"web/head": 3, "web": 1}).plan(["web"], {"web/head": 100, "web/tail": 200})
  ->  web/head 1 epoch, web/tail 1/6: shares of 3/4 and 1/4
"""

import dataclasses
import functools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from bert_data.curation.document import Document
from bert_data.curation.step import CorpusStep, Table, Value
from bert_data.settings import Within
from bert_data.written_values import items_of

EVERY_SOURCE = "*"
_SEPARATOR = "/"
DOCUMENTS, BYTES, WORDS, TOKENS = UNITS = ("documents", "bytes", "words", "tokens")
"""In which parts of a mixture are measured."""

_IN_DOCUMENT = {WORDS: "num_words", TOKENS: "num_tokens"}
_ALL = "all"
_TOLERANCE = 0.1
_MAX_NAMED = 10

_MAX_EXPONENT = 10
_MOST_EPOCHS, _MOST_EPOCHS_OF_BUDGET = 1.0, 4.0
_LEAST_NUMBER = 1e-100  # of those that are > 0; products of them and of sizes are numbers, too
_MOST = {"weights": 1e100, "budget": 1e100, "epochs": 1e6, "most_epochs": 1e6}


def numbers_by_name(field: str, entries: Any) -> dict[str, Any]:
    """Return {"a": 1} for ("a:1",), for {"a:1": None}, as YAML reads "a:1", and for itself.

    A mapping in a mapping has the numbers of a data set's buckets; "*" is all its other ones.
    """
    if not isinstance(entries, Mapping | tuple | list | str):
        raise ValueError(f"{field} is {entries!r:.60}; NAME: NUMBER is needed")
    numbers: dict[str, Any] = {}
    for name, value in _pairs(entries):
        if isinstance(name, str):
            name = name.removesuffix(f"{_SEPARATOR}{EVERY_SOURCE}")
        if not isinstance(name, str) or name in numbers:
            raise ValueError(f"{field} has {name!r:.60}; each data set's name is needed once")
        numbers[name] = value
    return numbers


def _pairs(entries: Any) -> Iterable[tuple[Any, Any]]:
    for name, value in items_of(entries, of_numbers=True):
        if isinstance(value, Mapping):
            buckets = items_of(value, of_numbers=True)
            yield from ((cell_name(name, bucket), each) for bucket, each in buckets)
        else:
            yield name, value


def cell_name(source: str, bucket: Any) -> str:
    """Return the name of a data set's bucket, or of the data set if the bucket is None."""
    return source if bucket is None else f"{source}{_SEPARATOR}{bucket}"


def split_name(name: str) -> tuple[str, str | None]:
    """Return the data set and the bucket (None: of all its documents) that a name means."""
    source, separator, bucket = name.partition(_SEPARATOR)
    return source, bucket if separator else None


def entry_of_bucket(entries: Collection[str], source: str, bucket: str | None) -> str | None:
    """Return the entry that holds for a bucket: the first of web/head, */head, web; or None."""
    names = [source]
    if bucket is not None:
        names = [cell_name(source, bucket), cell_name(EVERY_SOURCE, bucket), source]
    return next((name for name in names if name in entries), None)


def idle_entries(entries: Iterable[str], cells: Iterable[str]) -> list[str]:
    """Return the entries that name a data set, or a bucket, of which there is no cell."""
    known = set(map(split_name, cells))
    known |= {(EVERY_SOURCE, bucket) for _, bucket in known} | {
        (source, None) for source, _ in known
    }
    return [name for name in entries if split_name(name) not in known]


def bucketed_sources(entries: Iterable[str]) -> frozenset[str]:
    """Return the data sets of which entries name a bucket; with `EVERY_SOURCE`, it is all."""
    return frozenset(source for source, bucket in map(split_name, entries) if bucket is not None)


def check_sources(field: str, entries: Iterable[str], sources: Collection[str]) -> None:
    """Refuse entries of unknown data sets."""
    for name in sorted(entries):
        source, bucket = split_name(name)
        if source not in sources and not (source == EVERY_SOURCE and bucket is not None):
            known = ", ".join(sources)
            raise ValueError(f"{field} names {source!r:.60}; the data sets are {known}")


def check_buckets(field: str, entries: Iterable[str], cells: Collection[str]) -> None:
    """Refuse entries of buckets that no document of any data set is in."""
    known = {bucket for _, bucket in map(split_name, cells) if bucket is not None}
    for name in sorted(entries):
        bucket = split_name(name)[1]
        if bucket is not None and bucket not in known:
            shown = ", ".join(sorted(known)[:20]) or "none"
            raise ValueError(f"{field} names the bucket {bucket!r:.60}; the buckets are {shown}")


class Portion(NamedTuple):
    """A part of a mixture: a data set, or buckets of it; the weight of one with a size is > 0."""

    weight: float
    size: float


def epochs_of_parts(
    parts: Mapping[str, Portion], most_epochs: float, budget: float | None = None
) -> dict[str, float]:
    """Return how often each part passes.

    Without a budget, the part that is scarcest for its weight passes for `most_epochs`, and all
    have their shares. With one, the result has this size: parts that would pass more often than
    `most_epochs` pass so often, and the others share what remains by their weights, as in UniMax
    (Chung et al. 2023, arXiv:2304.09151).
    """
    plenty = {
        name: part.size / part.weight for name, part in parts.items() if part.size and part.weight
    }
    scale = min(plenty.values(), default=0.0)
    if budget is not None:
        scale = _scale_to(budget, parts, plenty, most_epochs) / most_epochs
    rates = {name: most_epochs * min(1.0, scale / each) for name, each in plenty.items()}
    return {name: rates.get(name, 0.0) for name in parts}


def _scale_to(
    budget: float, parts: Mapping[str, Portion], plenty: Mapping[str, float], most_epochs: float
) -> float:
    """Return the number that, divided by the plenty of each part, gives epochs that fit."""
    largest = most_epochs * math.fsum(parts[name].size for name in plenty)
    if largest < budget:
        raise ValueError(
            f"budget is {budget:,.15g}, but {most_epochs:g} epochs of all documents are"
            f" {largest:,.15g}; allow more epochs (most_epochs) or ask for less"
        )
    left, weight = budget, math.fsum(parts[name].weight for name in plenty)
    for name in sorted(plenty, key=lambda name: (plenty[name], name)):  # the first to be exhausted
        if left <= most_epochs * plenty[name] * weight:
            return left / weight
        left -= most_epochs * parts[name].size
        weight -= parts[name].weight
    return math.inf


class MixturePlan(NamedTuple):
    """Epochs of each cell of a mixture.

    Attributes:
      wanted: epochs of each cell that have the wanted shares, at any scale.
      portions: cells of each portion, by its name.
    """

    epochs: Mapping[str, float]
    wanted: Mapping[str, float]
    portions: Mapping[str, Sequence[str]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MixingStep(CorpusStep):
    """A step with the parameters of a mixture, which `mix` describes.

    A cell is a data set, or a bucket of one; a portion is the cells that an entry names together.
    """

    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    epochs: Mapping[str, float] = dataclasses.field(default_factory=dict)
    exponent: Annotated[float, Within(0, _MAX_EXPONENT)] | None = None
    unit: Literal["documents", "words", "bytes", "tokens"] = "bytes"
    budget: float | None = None
    most_epochs: float | None = None

    def __post_init__(self) -> None:
        for field in ("weights", "epochs"):
            object.__setattr__(self, field, numbers_by_name(field, getattr(self, field)))
        super().__post_init__()
        for field, least in (("weights", _LEAST_NUMBER), ("epochs", 0)):
            for name, value in getattr(self, field).items():
                _check_number(f"{field} has {name}:", value, least, _MOST[field])
        for field in ("budget", "most_epochs"):
            value = getattr(self, field)
            if value is not None:
                _check_number(f"{field} is", value, _LEAST_NUMBER, _MOST[field])
            if value is not None and self.epochs:
                raise ValueError(f"{field} goes with weights or exponent, not with epochs")
        is_weighted = bool(self.weights) or self.exponent is not None
        if not self.epochs and not is_weighted:
            raise ValueError("mix needs weights, epochs or exponent")
        if self.epochs and is_weighted:
            raise ValueError("epochs cannot be combined with weights or exponent")

    @property
    def entry_field(self) -> str:
        """Name of the parameter that has the entries."""
        return "epochs" if self.epochs else "weights"

    @property
    def entries(self) -> Mapping[str, float]:
        """Weights or epochs."""
        return self.epochs or self.weights

    def plan(self, sources: Sequence[str], sizes: Mapping[str, int]) -> MixturePlan:
        """Plan a mixture of data sets, with the sizes of its cells."""
        if self.epochs:
            epochs = {cell: self._number(cell) for cell in sizes}
            return MixturePlan(epochs, epochs, {cell: [cell] for cell in sizes})
        portions = self._portions(sources, sizes)
        named = {name: self._portion(name, cells, sizes) for name, cells in portions.items()}
        most = self.most_epochs
        if most is None:
            most = _MOST_EPOCHS if self.budget is None else _MOST_EPOCHS_OF_BUDGET
        planned = epochs_of_parts(named, most, self.budget)
        return MixturePlan(
            {cell: planned[name] for name, cells in portions.items() for cell in cells},
            {
                cell: named[name].weight / named[name].size if named[name].size else 0.0
                for name, cells in portions.items()
                for cell in cells
            },
            portions,
        )

    def _portions(self, sources: Sequence[str], sizes: Mapping[str, int]) -> dict[str, list[str]]:
        portions: dict[str, list[str]] = {}
        if self.exponent is not None:
            return {cell: [cell] for cell in sizes}
        for source in sources:
            if not any(size for cell, size in sizes.items() if split_name(cell)[0] == source):
                raise ValueError(f"data set {source} has no {self.unit} left to mix")
        for cell in sizes:
            entry = entry_of_bucket(self.weights, *split_name(cell))
            if entry is None:
                raise ValueError(f"weights has no entry for {cell}")
            name = cell if split_name(entry)[0] == EVERY_SOURCE else entry
            portions.setdefault(name, []).append(cell)
        for name in self.weights:
            is_empty = not sum(sizes[cell] for cell in portions.get(name, ()))
            if is_empty and split_name(name)[0] != EVERY_SOURCE:
                raise ValueError(f"weights has {name}, of which no {self.unit} are left to mix")
        return portions

    def _portion(self, name: str, cells: Sequence[str], sizes: Mapping[str, int]) -> Portion:
        size = sum(sizes[cell] for cell in cells)
        weight = self._number(name)
        if self.exponent is not None:
            weight *= float(size) ** self.exponent if size else 0.0
        return Portion(weight, size)

    def _number(self, cell: str) -> float:
        """Return the weight or the epochs of a cell or a portion: 1 without an entry."""
        entry = entry_of_bucket(self.entries, *split_name(cell))
        return 1.0 if entry is None else self.entries[entry]


def _check_number(what: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        sign = ">" if least else ">="
        raise ValueError(
            f"{what} {value!r}; it must be a number {sign} 0 ({least:g} to {most:,.9g})"
        )


def size_of(document: Document, unit: str) -> int:
    """Return the size of a document."""
    if unit == DOCUMENTS:
        return 1
    if unit == TOKENS:
        return document.known_sizes()["num_tokens"]  # a pipeline that counts them has counted
    return document.num_bytes if unit == BYTES else document.num_words


def count_document(document: Document, cell: str, num_copies: int, unit: str) -> dict[str, int]:
    """Return what a document adds to the counts: all sizes that are known, and the unit.

    "all bytes of web/head", "bytes of web/head"     what there was, and what passes
    """
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


class Reached(NamedTuple):
    """Sizes of what there was and of what passes, by unit and cell; each unit has all cells."""

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


def tabulate_mixture(reached: Reached, unit: str, plan: MixturePlan) -> Table:
    """Return a row for each cell of the plan for the sizes that there were, and one for all."""
    cells = list(plan.epochs)
    before, after = reached.before[unit], reached.after[unit]
    planned = sum(before[cell] * plan.epochs[cell] for cell in cells)
    columns = [("part", ""), ("epochs", "wanted"), ("epochs", "reached")]
    rows: list[list[Value]] = [
        [cell, plan.epochs[cell], _ratio(after[cell], before[cell])] for cell in cells
    ]
    total = sum(before.values())
    rows.append([_ALL, _ratio(planned, total), _ratio(sum(after.values()), total)])
    # Words are shown only if they are the unit, or instead of tokens.
    hidden = WORDS if TOKENS in reached.before and unit != WORDS else None
    for each in (known for known in UNITS if known in reached.before and known != hidden):
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


def describe_misses(
    reached: Reached, unit: str, plan: MixturePlan, budget: float | None
) -> str | None:
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


def describe_missed_epochs(reached: Reached, unit: str, plan: MixturePlan) -> str | None:
    """Name the cells whose epochs, counted in the unit, are off by more than a tenth."""
    before, after = reached.before[unit], reached.after[unit]
    wanted = {cell: plan.epochs[cell] for cell in before if before[cell]}
    got = {cell: after[cell] / before[cell] for cell in wanted}
    return _name_misses(f"too few documents to reach these epochs of {unit}", wanted, got)


def _shares_of_portions(plan: MixturePlan, sizes: Mapping[str, float]) -> dict[str, float]:
    return shares({name: sum(map(sizes.__getitem__, c)) for name, c in plan.portions.items()})


def _name_misses(what: str, wanted: Mapping[str, float], got: Mapping[str, float]) -> str | None:
    missed = [
        f"{name} has {got[name]:.4g} instead of {share:.4g}"
        for name, share in wanted.items()
        if abs(got[name] - share) > _TOLERANCE * share and any(got.values())
    ]
    more = f", and {len(missed) - _MAX_NAMED} more" if len(missed) > _MAX_NAMED else ""
    return f"{what}: {', '.join(missed[:_MAX_NAMED])}{more}" if missed else None
