"""Folders for what a run writes before its output."""

import pytest

from bert_data.storage import scratch_folder


def test_it_vanishes_with_its_contents(tmp_path):
    output = tmp_path / "a" / "b" / "out"
    with scratch_folder(str(output)) as folder:
        (tmp_path / folder / "file").write_bytes(b"x")
        assert {path.name for path in tmp_path.iterdir()} >= {".out.documents.lock"}
    assert list(tmp_path.iterdir()) == []


def test_errors_remove_it_too(tmp_path):
    with pytest.raises(KeyError), scratch_folder(str(tmp_path / "out")):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed(tmp_path):
    output = str(tmp_path / "out")
    left = scratch_folder(output)
    folder = left.__enter__()
    lock = tmp_path / ".out.documents.lock"
    notes = lock.read_bytes()
    left.__exit__(None, None, None)
    # As if the process had died: the folder and the notes are there, and nobody holds the lock.
    (tmp_path / folder).mkdir()
    lock.write_bytes(b"")
    inode = lock.stat().st_ino
    lock.write_bytes(notes.replace(notes.split(b",")[0], b'{"inode": %d' % inode))
    with scratch_folder(output) as other:
        assert other != folder
        assert not (tmp_path / folder).exists()
    assert list(tmp_path.iterdir()) == []


def test_two_runs_for_one_output(tmp_path):
    with scratch_folder(str(tmp_path / "out")):
        with pytest.raises(BlockingIOError), scratch_folder(str(tmp_path / "out")):
            pass
        with scratch_folder(str(tmp_path / "other")):
            pass


@pytest.mark.parametrize("output", [None, "s3://bucket/out"])
def test_without_a_local_output_it_is_a_temporary_folder(tmp_path, monkeypatch, output):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder(output) as folder:
        assert folder.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
