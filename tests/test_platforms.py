"""Systems that lack what Linux has, simulated: macOS has no affinity and no posix_fadvise."""

import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from bert_data.reader import ReaderConfig, iterate_arrays
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.work import count_workers

NOT_ON_MACOS = ("sched_getaffinity", "posix_fadvise", "POSIX_FADV_WILLNEED", "fdatasync")


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove from `os` what it lacks there."""
    for name in NOT_ON_MACOS:
        monkeypatch.delattr(os, name, raising=False)


@pytest.mark.usefixtures("macos")
def test_all_cores_are_those_of_the_machine() -> None:
    assert count_workers(0) == os.cpu_count()
    assert count_workers(3) == 3


def test_windows_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, checkout: Path) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ImportError, match="on Windows, run it in WSL2 or in Docker"):
        runpy.run_path(str(checkout / "bert_data" / "__init__.py"))


def test_records_are_the_same(
    tmp_path: Path, small_text: Path, small_vocabulary: Path, request: pytest.FixtureRequest
) -> None:
    def make(name: str) -> list[dict[str, np.ndarray]]:
        output = tmp_path / name
        create_dataset(
            DatasetConfig(
                input_file=str(small_text),
                vocab_file=str(small_vocabulary),
                output_file=str(output),
            )
        )
        config = ReaderConfig(
            input_patterns=str(output), batch_size=8, batching="pools", shuffle=True, seed=1
        )
        return list(iterate_arrays(config))

    here = make("here")
    request.getfixturevalue("macos")
    there = make("there")
    assert len(here) == len(there) > 1
    for one, other in zip(here, there, strict=True):
        for name, values in one.items():
            np.testing.assert_array_equal(values, other[name])
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
