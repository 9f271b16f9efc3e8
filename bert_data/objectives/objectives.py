"""The objectives by name and by label."""

from collections.abc import Iterable

from bert_data.objectives.none import NONE
from bert_data.objectives.nsp import NSP
from bert_data.objectives.objective import Objective
from bert_data.objectives.sop import SOP
from bert_data.settings import check_choice

OBJECTIVES = {objective.name: objective for objective in (NSP, SOP, NONE)}


DEFAULT = NSP.name
"""The reference's, where nothing says another."""


def find_objective(name: str) -> Objective:
    """Return an objective, or refuse a name that none has."""
    check_choice("next_sentence", name, OBJECTIVES)
    return OBJECTIVES[name]


def objective_with_label(columns: Iterable[str]) -> Objective:
    """Return the objective whose label is among columns of Parquet; without one, `NONE`."""
    by_label = {each.label.column: each for each in OBJECTIVES.values() if each.label is not None}
    return next((by_label[name] for name in columns if name in by_label), NONE)
