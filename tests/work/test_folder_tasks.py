"""Folders of tasks appear whole; the folder of unfinished work stays while it is of use."""

import contextlib
import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.work import (
    Filled,
    FolderTask,
    open_executor,
    open_work_folder,
    read_report,
    run_tasks,
)


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
        assert [bool(task.find(item)) for item in items[:3]] == [True, True, False]
        del items[2]
        reports = list(run_tasks("letters", task, items, executor))
    assert [is_new for _, is_new in reports][:2] == [False, False]
    assert [folder for folder, _ in reports] == [
        str(tmp_path / "tasks" / n) for n in ("a", "bb", "d")
    ]
    assert read_report(reports[1][0]) == {"number": 2, "half": 0.5, "path": "x"}
    assert sorted(os.listdir(tmp_path / "tasks")) == ["a", "bb", "d"]
    assert sorted(os.listdir(reports[1][0])) == ["letters", "report.json", "sums.json"]


@pytest.mark.parametrize("is_synced", [True, False])
def test_a_folder_is_on_the_disk_if_it_must_outlast_the_machine(tmp_path, monkeypatch, is_synced):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    FolderTask(parent=str(tmp_path), function=write_letters, is_synced=is_synced)(Letters("a"))
    assert (os.stat(tmp_path / "a/letters").st_ino in synced) == is_synced


def test_a_folder_that_another_process_has_made_meanwhile_stays(tmp_path):
    def write_twice(item: Letters, folder: str) -> int:
        if depth.pop():
            task(item)
        return len(depth)

    depth = [0, 1]
    task = FolderTask(parent=str(tmp_path), function=write_twice)
    assert read_report(task(Letters("a"))) == 0
    assert json.loads(Path(tmp_path, "a/report.json").read_text()) == 0
    assert os.listdir(tmp_path) == ["a"]


class TestWorkFolder:
    def use(self, parent, name="f1", *, done=True, error=None, is_own=True, **options):
        """A run that may do a task, and may end with an error."""
        with open_work_folder(str(parent), name, is_own=is_own, **options) as root:
            there = sorted(os.listdir(root))
            if done:
                FolderTask(parent=os.path.join(root, "t"), function=write_letters)(Letters("a"))
            if error is not None:
                raise error
        return there

    def test_goes_when_the_run_ends_well(self, tmp_path):
        assert self.use(tmp_path / "work") == []
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
    def test_stays_for_the_same_run_if_a_task_is_done(self, tmp_path, error):
        with pytest.raises(type(error)):
            self.use(tmp_path / "work", error=error)
        assert self.use(tmp_path / "work") == ["t"]
        assert os.listdir(tmp_path) == []

    def test_goes_if_no_task_is_done_or_it_would_be_the_same_again(self, tmp_path):
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", done=False, error=ValueError())
        assert os.listdir(tmp_path) == []
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", error=ValueError(), useless_after=(ValueError,))
        assert os.listdir(tmp_path) == []

    def test_work_of_other_runs_is_told_of_and_goes_with_an_own_parent(self, tmp_path, caplog):
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", "f1", error=ValueError())
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", "f2", error=ValueError())
        assert "unfinished work of 1 other run(s)" in caplog.text
        assert sorted(os.listdir(tmp_path / "work")) == ["f1", "f2"]
        assert self.use(tmp_path / "work", "f2") == ["t"]
        assert os.listdir(tmp_path) == []

    def test_a_parent_that_others_use_stays(self, tmp_path, caplog):
        (tmp_path / "shared").mkdir()
        with pytest.raises(ValueError):
            self.use(tmp_path / "shared", "f1", error=ValueError(), is_own=False)
        self.use(tmp_path / "shared", "f2", is_own=False)
        assert os.listdir(tmp_path / "shared") == ["f1"]
        self.use(tmp_path / "shared", "f1", is_own=False)
        assert os.listdir(tmp_path / "shared") == []
        self.use(tmp_path / "new", is_own=False)
        assert os.listdir(tmp_path) == ["shared"]
        assert "unfinished work of" not in caplog.text

    @pytest.mark.parametrize("name", ["letters", "report.json", "sums.json", "in/new"])
    def test_goes_if_a_file_of_a_task_is_damaged(self, tmp_path, caplog, name):
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", error=ValueError())
        path = tmp_path / "work/f1/t/a" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(path.read_bytes()[:-1] + b"!" if path.exists() else b"")
        assert self.use(tmp_path / "work", error=None) == []
        assert f"{path}: byte offset 0: not " in caplog.text

    @pytest.mark.parametrize(("crc", "there"), [(0x364B3FB7, ["t"]), (0x364B3FB8, [])])
    def test_takes_a_function_at_its_word_for_checksums(self, tmp_path, caplog, crc, there):
        def write(item: Letters, folder: str) -> Filled:
            Path(folder, "other").write_text("x")
            return Filled(write_letters(item, folder), {"letters": (3, crc)})

        with pytest.raises(KeyError), open_work_folder(str(tmp_path), "f", is_own=False) as root:
            folder = FolderTask(parent=f"{root}/t", function=write)(Letters("abc"))
            assert read_report(folder) == {"number": 3, "half": 0.5, "path": "x"}
            raise KeyError
        assert self.use(tmp_path, "f", done=False, is_own=False) == there
        assert ("damaged" in caplog.text) != bool(there)

    def test_stays_if_a_task_removed_what_it_used(self, tmp_path):
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", error=ValueError())
        (tmp_path / "work/f1/t/a/letters").unlink()
        assert self.use(tmp_path / "work") == ["t"]


class TestInAnObjectStore:
    def run(self, store, *names, function=write_letters, keep=False):
        """A run that does tasks in bucket/work/f1; returns whether it did each, or None."""
        done = []
        with (
            contextlib.suppress(KeyError),
            open_work_folder(store.uri("work"), "f1", is_own=True) as root,
        ):
            task = FolderTask(parent=f"{root}/t", function=function)
            with open_executor(1) as executor:
                done = [new for _, new in run_tasks("t", task, [*map(Letters, names)], executor)]
            if keep:
                raise KeyError
        return done

    def test_a_run_resumes_and_removes_its_folder(self, object_store):
        assert self.run(object_store, "a", "bb", keep=True) == [True, True]
        names = ("letters", "report.json", "sums.json")
        assert object_store.keys("work/f1/t/a/") == [f"work/f1/t/a/{name}" for name in names]
        assert self.run(object_store, "a", "bb", "c") == [False, False, True]
        assert not any(object_store.contents("work/").values())

    def test_a_task_whose_upload_did_not_end_is_not_done(self, object_store, caplog):
        self.run(object_store, "a", "bb", keep=True)
        object_store.remove("work/f1/t/a/sums.json")
        assert self.run(object_store, "a", "bb") == [True, False]
        assert "damaged" not in caplog.text

    def test_a_failing_upload_leaves_no_finished_task(self, object_store):
        object_store.fail("403", method="PUT", key="a/letters", times=99)
        with pytest.raises(PermissionError):
            self.run(object_store, "a")
        assert not object_store.get("work/f1/t/a/sums.json")

    def test_a_file_of_another_size_is_damage(self, object_store, caplog):
        self.run(object_store, "a", keep=True)
        object_store.put("work/f1/t/a/letters", b"other")
        assert self.run(object_store, "a") == [True]
        assert "a/letters: byte offset 0: not the file that the task wrote" in caplog.text
