"""Tasks: what an earlier run has done is found, the rest is done, and all comes in order."""

import contextlib
import dataclasses
import errno
import functools
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.work import FolderTask, Made, fingerprint, open_executor, read_report, run_tasks
from bert_data.work.tasks import TASK, Numbered, find_damage, read_table, write_table
from tests.hypotheses import examples


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


@dataclasses.dataclass(frozen=True)
class Letters:
    name: str

    @property
    def task_name(self) -> str:
        return self.name


def write_letters(item: Letters, folder: str) -> dict[str, object]:
    Path(folder, "letters").write_text(item.name)
    if "!" in item.name:
        raise KeyError(item.name)
    return {"number": np.int64(len(item.name)), "half": np.float32(0.5), "path": Path("x")}


@pytest.mark.parametrize("num_workers", [1, pytest.param(2, marks=pytest.mark.process)])
def test_a_folder_appears_with_its_report_when_it_is_whole(tmp_path, num_workers):
    task = FolderTask(parent=str(tmp_path / "tasks"), function=write_letters)
    items = [*map(Letters, ("a", "bb", "c!", "d"))]
    with open_executor(num_workers) as executor:
        with pytest.raises(KeyError):
            list(run_tasks("letters", task, items, executor))
        assert task.find(items[:3]) == [True, True, False]
        del items[2]
        reports = list(run_tasks("letters", task, items, executor))
    assert [is_new for _, is_new in reports][:2] == [False, False]
    assert [made.folder for made, _ in reports] == [
        str(tmp_path / "tasks" / n) for n in ("a", "bb", "d")
    ]
    result = {"number": 2, "half": 0.5, "path": "x"}
    assert reports[1][0].report == read_report(reports[1][0].folder) == result
    assert sorted(os.listdir(tmp_path / "tasks")) == ["a", "bb", "d"]
    assert sorted(os.listdir(reports[1][0].folder)) == ["letters", "task"]


class Client:
    """A host that remembers what it did not find, as those of NFS may for a minute."""

    def __init__(self) -> None:
        self.missing: set[str] = set()

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("stat", "listdir", "scandir"):
                patch.setattr(os, name, functools.partial(self._ask, getattr(os, name)))
            yield

    def _ask(self, function, path, **options):
        names = {str(path), *map(str, Path(path).parents)}
        if not names & self.missing:
            with contextlib.suppress(FileNotFoundError):
                return function(path, **options)
            self.missing.add(str(path))
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def test_what_other_hosts_make_is_seen_at_once(tmp_path):
    client, items = Client(), [*map(Letters, ("a", "b"))]
    task = FolderTask(parent=str(tmp_path / "pass-0"), function=write_letters)
    with client.used():
        assert task.find(items) == [False, False]
    task(items[0])  # as another host does
    with client.used():
        assert os.listdir(task.path(items[0]))
        assert task.find(items) == [True, False]
    task(items[1])
    with client.used():
        assert os.listdir(task.path(items[1]))


def test_a_file_that_is_removed_while_it_is_open_is_no_file_of_the_task(tmp_path):
    """NFS keeps it until it is closed, under such a name."""

    def make(_: Letters, folder: str) -> None:
        Path(folder, ".nfs0000000000000001").touch()

    made = FolderTask(parent=str(tmp_path), function=make)(Letters("a"))
    assert read_table(Path(made.folder, "task"))[0] == {"report": None, "sums": {}}


def test_a_folder_is_on_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    FolderTask(parent=str(tmp_path), function=write_letters)(Letters("a"))
    assert os.stat(tmp_path / "a/letters").st_ino in synced


def test_a_folder_that_another_process_has_made_meanwhile_stays(tmp_path):
    def write_twice(item: Letters, folder: str) -> int:
        if depth.pop():
            task(item)
        return len(depth)

    depth = [0, 1]
    task = FolderTask(parent=str(tmp_path), function=write_twice)
    assert read_report(task(Letters("a")).folder) == 0
    assert os.listdir(tmp_path) == ["a"]


@dataclasses.dataclass(frozen=True)
class Some(Numbered):
    """An item whose task writes bytes before its table."""

    def write(self, folder: str) -> list[int]:
        Path(folder, TASK).write_bytes(bytes([self.number]) * self.number)
        return [self.number]


@pytest.mark.parametrize("with_files", [True, False])
def test_joined_tasks_are_done_and_leave_few_files(tmp_path, with_files):
    """Joined again, they are the same; tasks that were left out stay as they are."""
    task = FolderTask(parent=str(tmp_path), function=Some.write)
    items = [Some(number) for number in range(100)]
    joined = [item for item in items if item.number % 40 != 7]

    def bytes_of(made: Made) -> bytes:
        data = Path(made.folder, TASK).read_bytes()
        return data[made.begin : made.begin + made.report[0]]

    with open_executor(1) as executor:
        list(run_tasks("some", task, items, executor))
        for _ in range(2):
            list(task.join(joined, executor, with_files=with_files))
            assert task.find([*items, Some(200)]) == [True] * 100 + [False]
            done = [made for made, _ in run_tasks("some", task, items, executor)]
            assert [made.report for made in done] == [[item.number] for item in items]
            assert [*map(bytes_of, done)] == [bytes([n]) * n for n in range(100)]
            assert all(find_damage(made.folder, must_be_whole=True) is None for made in done)
    names = {"joined-000000", "joined-000001"}
    left = [item for item in items if item not in joined] if with_files else items
    assert set(os.listdir(tmp_path)) == names | {item.task_name for item in left}


def test_folders_go_once_their_tasks_are_joined(tmp_path, monkeypatch):
    """Killed between two of them, a run finds each task once."""
    task = FolderTask(parent=str(tmp_path), function=Some.write)
    items, remove, removed = [Some(number) for number in range(70)], storage.remove_folder, []

    def remove_some(path: str) -> None:
        if len(removed) == 30:
            raise KeyboardInterrupt
        removed.append(path)
        remove(path)

    with open_executor(1) as executor:
        list(run_tasks("some", task, items, executor))
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(storage, "remove_folder", remove_some)
            task.join(items, executor, with_files=True)
        again = list(run_tasks("some", task, items, executor))
    assert [(made.report, is_new) for made, is_new in again] == [([n], False) for n in range(70)]
    assert {"joined-000000", "joined-000001"} <= set(os.listdir(tmp_path))


def test_reports_of_joined_tasks_stay_when_their_folders_go(tmp_path):
    task = FolderTask(parent=str(tmp_path), function=Some.write)
    items = [Some(number) for number in range(3)]
    with open_executor(1) as executor:
        list(run_tasks("some", task, items, executor))
        list(task.join(items, executor, with_files=False))
        (tmp_path / "000001/task").unlink()  # and a killed run leaves the folder
        shutil.rmtree(tmp_path / "000002")
        again = [made.report for made, is_new in run_tasks("some", task, items, executor)]
    assert again == [[0], [1], [2]]
    assert find_damage(str(tmp_path / "000001"), must_be_whole=False) is None


@examples(60)
@given(st.data(), st.binary(max_size=20), st.integers(0, 1 << 17))
def test_a_table_is_read_whatever_is_before_it_and_damage_is_told(
    tmp_path_factory, data, before, size
):
    path = tmp_path_factory.mktemp("table") / "file"
    with path.open("wb") as file:
        file.write(before)
        write_table(file, json.dumps("x" * size))
    assert read_table(path) == ("x" * size, len(before))
    whole = bytearray(path.read_bytes())
    damaged = data.draw(st.integers(len(before), len(whole) - 1))
    whole[damaged] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(whole) - 1))
    for content in (whole, path.read_bytes()[:cut]):
        path.write_bytes(content)
        with pytest.raises(CorruptDataError):
            read_table(path)
