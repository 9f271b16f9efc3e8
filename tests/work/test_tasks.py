"""Tasks: what an earlier run has done is found, the rest is done, and all comes in order."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.work import fingerprint, open_executor, run_tasks


@dataclasses.dataclass(frozen=True)
class Square:
    """Writes the square of a number to a file; its report is the square."""

    folder: str

    def __call__(self, item: int) -> int:
        if item < 0:
            raise ValueError(f"{item} is negative")
        self.path(item).write_text(str(item * item))
        return item * item

    def find(self, items: Sequence[int]) -> list[bool]:
        return [self.path(item).exists() for item in items]

    def reports(self, items: Sequence[int]) -> Iterator[int]:
        return (int(self.path(item).read_text()) for item in items)

    def path(self, item: int) -> Path:
        return Path(self.folder) / str(item)


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.process)])
def executor(request):
    with open_executor(request.param) as workers:
        yield workers


@given(st.lists(st.integers(0, 20), unique=True), st.frozensets(st.integers(0, 20)))
def test_only_what_is_missing_is_done(executor, tmp_path_factory, items, there):
    task = Square(str(tmp_path_factory.mktemp("tasks")))
    for item in there:
        task.path(item).write_text(str(-item))
    reports = list(run_tasks("square", task, items, executor))
    assert reports == [(-n, False) if n in there else (n * n, True) for n in items]
    assert list(run_tasks("square", task, items, executor)) == [(r, False) for r, _ in reports]


def test_the_log_says_what_was_done_before(executor, tmp_path, caplog):
    task = Square(str(tmp_path))
    caplog.set_level("INFO", logger="absl")
    list(run_tasks("square", task, [2, 3], executor))
    assert not caplog.records
    list(run_tasks("square", task, [4, 3, 2], executor))
    assert caplog.messages == ["square: 2 of 3 were done by an earlier run"]


def test_an_error_comes_after_the_reports_before_it_and_they_stay(executor, tmp_path):
    task = Square(str(tmp_path))
    reports = run_tasks("square", task, [1, 2, -3, 4], executor)
    assert [next(reports), next(reports)] == [(1, True), (4, True)]
    with pytest.raises(ValueError, match="-3 is negative"):
        next(reports)
    assert list(task.reports([1, 2])) == [1, 4]


def test_a_fingerprint_changes_with_all_that_is_described():
    descriptions = [
        {"seed": 1, "files": [["a", 10]]},
        {"seed": 2, "files": [["a", 10]]},
        {"seed": 1, "files": [["a", 11]]},
        {"seed": "1", "files": [["a", 10]]},
        {"seed": 1, "files": [["a"], [10]]},
        {"seed": 1, "files": [["\udcff", 10]]},
        {"seed": 1},
    ]
    prints = [fingerprint(each) for each in descriptions]
    assert len(set(prints)) == len(prints)
    assert all(len(each) == 16 for each in prints)
    assert fingerprint({"b": 2, "a": (1, Path("x"))}) == fingerprint({"a": [1, "x"], "b": 2})
