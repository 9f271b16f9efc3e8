"""A run that was killed at its end knows its output, and finishes what it was removing."""

import os
from pathlib import Path

import pytest

from bert_data.storage import hidden
from bert_data.work.commits import finish_removal, has_committed, note_commit


def test_the_noted_file_is_the_run_s_own(tmp_path: Path) -> None:
    parent, manifest = str(tmp_path / "work"), tmp_path / "manifest.json"
    assert not has_committed(parent, "run", str(manifest))
    note_commit(os.path.join(parent, "run"), b"{}")
    assert not has_committed(parent, "run", str(manifest))
    manifest.write_bytes(b"{ }")
    assert not has_committed(parent, "run", str(manifest))
    manifest.write_bytes(b"{}")
    assert has_committed(parent, "run", str(manifest))
    assert not has_committed(parent, "another", str(manifest))


@pytest.mark.parametrize("is_own", [True, False])
def test_an_empty_parent_is_removed_if_it_is_own(tmp_path: Path, is_own: bool) -> None:
    parent = tmp_path / "work"
    finish_removal(str(parent), is_own=is_own)
    parent.mkdir()
    (parent / "run").mkdir()
    finish_removal(str(parent), is_own=is_own)
    assert os.listdir(parent) == ["run"]
    half_removed = hidden.writing_path(str(parent / "run"), hidden.new_token())
    os.rename(parent / "run", half_removed)
    finish_removal(str(parent), is_own=is_own)
    assert parent.exists() != is_own
