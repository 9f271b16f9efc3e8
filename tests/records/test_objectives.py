"""The table of objectives, and that nothing else compares their names."""

import ast
from pathlib import Path

import pytest

import bert_data
from bert_data.records.choices import MASKING_NAMES, OBJECTIVE_NAMES
from bert_data.records.masking.choosing import MASKINGS
from bert_data.records.objectives import OBJECTIVES, find_objective, objective_with_label

COVERS = ("records/choices",)

PACKAGE = Path(bert_data.__file__).parent


@pytest.mark.slow
def test_no_other_module_knows_an_objective_by_its_name() -> None:
    places = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name in ("choices.py", "objectives.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_name = isinstance(node, ast.Constant) and node.value in ("nsp", "sop")
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                names = {ast.unparse(side).rpartition(".")[2] for side in sides}
                is_name = bool(names & {"NSP", "SOP"})
            if is_name:
                places.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    assert places == []


def test_choices_are_those_that_there_are() -> None:
    assert tuple(OBJECTIVES) == OBJECTIVE_NAMES
    assert tuple(MASKINGS) == MASKING_NAMES


def test_an_objective_is_found_by_its_name_or_by_the_column_of_its_label() -> None:
    for name, objective in OBJECTIVES.items():
        assert find_objective(name) is objective
        columns = [] if objective.label is None else ["tokens", objective.label.column]
        assert objective_with_label(columns) is objective
    with pytest.raises(
        ValueError, match="next_sentence is 'NSP'; it must be one of nsp, sop, none"
    ):
        find_objective("NSP")


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_what_is_asked_of_two_segments_has_a_label_and_a_task(objective) -> None:
    is_asked = objective.label is not None
    assert is_asked == (objective.task is not None) == (objective.num_segments == 2)
