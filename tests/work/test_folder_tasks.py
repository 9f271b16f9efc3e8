"""Folders of tasks appear whole, with their reports."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.work import (
    FolderTask,
    open_executor,
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
    assert sorted(os.listdir(reports[1][0].folder)) == ["letters", "report.json", "sums.json"]


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
    assert read_report(task(Letters("a")).folder) == 0
    assert json.loads(Path(tmp_path, "a/report.json").read_text()) == 0
    assert os.listdir(tmp_path) == ["a"]
