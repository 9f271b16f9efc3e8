"""What a user wants of a mixture, and the epochs of each of its cells that follow from the sizes.

    Wishes(weights={"web/head": 3, "web": 1}).plan(["web"], {"web/head": 100, "web/tail": 200})
      ->  web/head 1 epoch, web/tail 1/6: shares of 3/4 and 1/4

A cell is a data set, or a bucket of one; a portion is the cells that an entry names together.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from bert_data.curation.mixing.entries import EVERY, find_entry, split_name
from bert_data.curation.mixing.plan import Portion, plan_epochs

_MOST_EPOCHS, _MOST_EPOCHS_OF_BUDGET = 1.0, 4.0
_LEAST_NUMBER = 1e-100  # of those that are > 0; products of them and of sizes are numbers, too
_MOST = {"weights": 1e100, "budget": 1e100, "epochs": 1e6, "most_epochs": 1e6}


@dataclasses.dataclass(frozen=True)
class Plan:
    """How often each cell passes.

    Attributes:
      epochs: of each cell.
      wishes: epochs of each cell that have the wanted shares, at any scale.
      portions: cells of each portion, by its name.
    """

    epochs: Mapping[str, float]
    wishes: Mapping[str, float]
    portions: Mapping[str, Sequence[str]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wishes:
    """The parameters of a mixture; see the step `mix`."""

    weights: Mapping[str, float]
    epochs: Mapping[str, float]
    exponent: float | None
    unit: str
    budget: float | None
    most_epochs: float | None

    def __post_init__(self) -> None:
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
            raise ValueError("mix needs weights or epochs, by the names of data sets, or exponent")
        if self.epochs and is_weighted:
            raise ValueError(
                "epochs are given, and weights or exponent; one or the other is needed"
            )

    @property
    def field(self) -> str:
        """The parameter that has the entries."""
        return "epochs" if self.epochs else "weights"

    @property
    def entries(self) -> Mapping[str, float]:
        """Weights or epochs."""
        return self.epochs or self.weights

    def plan(self, sources: Sequence[str], sizes: Mapping[str, int]) -> Plan:
        """Plan a mixture.

        Raises:
          ValueError: nothing is left of what has a weight, a weight is missing, or the budget
            cannot be reached.
        """
        if self.epochs:
            epochs = {cell: self._number(cell, 1.0) for cell in sizes}
            return Plan(epochs, epochs, {cell: [cell] for cell in sizes})
        portions = self._portions(sources, sizes)
        named = {name: self._portion(name, cells, sizes) for name, cells in portions.items()}
        most = self.most_epochs
        if most is None:
            most = _MOST_EPOCHS if self.budget is None else _MOST_EPOCHS_OF_BUDGET
        planned = plan_epochs(named, most, self.budget)
        return Plan(
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
            entry = find_entry(self.weights, *split_name(cell))
            if entry is None:
                raise ValueError(f"weights has no entry for {cell}")
            name = cell if split_name(entry)[0] == EVERY else entry
            portions.setdefault(name, []).append(cell)
        for name in self.weights:
            is_empty = not sum(sizes[cell] for cell in portions.get(name, ()))
            if is_empty and split_name(name)[0] != EVERY:
                raise ValueError(f"weights has {name}, of which no {self.unit} are left to mix")
        return portions

    def _portion(self, name: str, cells: Sequence[str], sizes: Mapping[str, int]) -> Portion:
        size = sum(sizes[cell] for cell in cells)
        weight = self._number(name, 1.0)
        if self.exponent is not None:
            weight *= float(size) ** self.exponent if size else 0.0
        return Portion(weight, size)

    def _number(self, cell: str, default: float) -> float:
        """Return the number that holds for a cell or a portion."""
        entry = find_entry(self.entries, *split_name(cell))
        return default if entry is None else self.entries[entry]


def _check_number(what: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        sign = ">" if least else ">="
        raise ValueError(
            f"{what} {value!r}; it must be a number {sign} 0 ({least:g} to {most:,.9g})"
        )
