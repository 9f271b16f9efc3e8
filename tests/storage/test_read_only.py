"""A folder in which nothing can be made is named, with the reason; hidden names in it are not."""

import errno
import os
from types import SimpleNamespace

import pytest

from bert_data import storage
from bert_data.storage.file_systems import check_writable, naming_folder
from bert_data.storage.outputs import OutputSet
from bert_data.work import open_work_folder


def refuse(number):
    """Returns a function that fails as the system does; the path may be of any argument."""

    def call(path, *_, **__):
        raise OSError(number, os.strerror(number), os.fspath(path))

    return call


@pytest.fixture
def read_only(monkeypatch):
    """Nothing can be made anywhere, nor removed."""
    for name in ("mkdir", "open", "remove", "replace"):
        monkeypatch.setattr(os, name, refuse(errno.EROFS))
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))


@pytest.mark.parametrize("folder", ["", "new"])
def test_outputs_on_a_read_only_file_system(tmp_path, read_only, folder):
    name = str(tmp_path / folder / "a.bin")
    outputs = OutputSet(name, [name], reads=[], overwrite=False)
    with pytest.raises(OSError, match="Read-only file system") as caught, outputs:
        pass
    assert (caught.value.errno, caught.value.filename) == (errno.EROFS, os.path.dirname(name))


def test_locks_and_work_folders_on_a_read_only_file_system(tmp_path, read_only):
    folder = str(tmp_path)
    for make in (
        lambda: storage.RunLock(os.path.join(folder, ".model.lock")),
        lambda: open_work_folder(folder, "0123", is_own=False).__enter__(),
        lambda: storage.open_folder(os.path.join(folder, "000003")).__enter__(),
    ):
        with pytest.raises(OSError, match="Read-only file system") as caught:
            make()
        assert (caught.value.errno, caught.value.filename) == (errno.EROFS, folder)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_lock_that_cannot_be_made(tmp_path, monkeypatch, is_there):
    """As in /sys, which root seems allowed to write; a lock that is there may be another user's."""
    name, lock = str(tmp_path / "a.bin"), tmp_path / ".a.bin.lock"
    if is_there:
        lock.touch()
    outputs = OutputSet(name, [name, f"{name}.json"], reads=[], overwrite=False)
    monkeypatch.setattr(os, "open", refuse(errno.EACCES))
    with pytest.raises(PermissionError, match="Permission denied") as caught, outputs:
        pass
    assert caught.value.filename == (str(lock) if is_there else name)


def test_what_is_not_there_need_not_be_removed(tmp_path, read_only):
    """Linux says of it that the file system is read-only, not that it is missing."""
    storage.remove(tmp_path / "a")
    (tmp_path / "b").symlink_to("nowhere")
    with pytest.raises(OSError, match="Read-only"):
        storage.remove(tmp_path / "b")


def test_a_whole_file_is_named_as_its_caller_does(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "remove", refuse(errno.EROFS))
    path = str(tmp_path / "missing" / "page.html")
    with pytest.raises(FileNotFoundError) as caught:
        storage.write_bytes(path, b"")
    assert caught.value.filename == path


def test_a_folder_without_permission_is_named(tmp_path, monkeypatch):
    folder = str(tmp_path)
    with pytest.raises(PermissionError) as caught, naming_folder(folder):
        refuse(errno.EACCES)(f"{folder}/.a.lock")
    assert caught.value.filename == f"{folder}/.a.lock"  # the folder is writable: it is the file's
    monkeypatch.setattr(os, "access", lambda *_: False)
    for act in (lambda: refuse(errno.EACCES)(f"{folder}/.a.lock"), lambda: check_writable(folder)):
        sentence = "no permission to write"
        with pytest.raises(PermissionError, match=sentence) as caught, naming_folder(folder):
            act()
        assert caught.value.filename == folder
