"""Folders appear whole or not at all, also where a run is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bert_data.storage import OutputSet
from bert_data.storage.refusals import PRODUCT_LIST
from tests.object_store import ObjectStore

NAMES = ["preprocess", "encoder"]

# Dies by SIGKILL at its n-th call of one of os' functions that change names or make folders.
DYING = """
import os, signal, sys
from bert_data.storage import OutputSet
parent, dies_at = sys.argv[1], int(sys.argv[2])
paths = [os.path.join(parent, name) for name in ("preprocess", "encoder")]
calls = 0
def counted(function):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return call
os.rename, os.replace, os.mkdir = counted(os.rename), counted(os.replace), counted(os.mkdir)
name = os.path.join(parent, "export")
with OutputSet(name, [], folders=paths, reads=[], overwrite=True, maker="test") as outputs:
    for path in paths:
        os.mkdir(outputs.partial(path))
        with open(os.path.join(outputs.partial(path), "file"), "w") as file:
            file.write("new")
    outputs.commit(paths)
    calls = dies_at
"""


def output_folders(parent: Path, *, overwrite: bool = False, maker: str = "test") -> OutputSet:
    folders = [str(parent / name) for name in NAMES]
    name = str(parent / "export")
    return OutputSet(name, [], folders=folders, reads=[], overwrite=overwrite, maker=maker)


def write(parent: Path, text: str, *, overwrite: bool = False, maker: str = "test") -> None:
    paths = [str(parent / name) for name in NAMES]
    with output_folders(parent, overwrite=overwrite, maker=maker) as outputs:
        for path in paths:
            os.mkdir(outputs.partial(path))
            Path(outputs.partial(path), "file").write_text(text)
        outputs.commit(paths)


def contents(parent: Path) -> dict[str, str]:
    return {path.name: (path / "file").read_text() for path in parent.iterdir()}


def test_folders_appear_and_are_replaced(tmp_path: Path) -> None:
    parent = tmp_path / "a" / "b"
    write(parent, "old")
    assert contents(parent) == dict.fromkeys(NAMES, "old")
    with pytest.raises(FileExistsError, match="exists already"):
        write(parent, "new")
    assert contents(parent) == dict.fromkeys(NAMES, "old")
    write(parent, "new", overwrite=True)
    assert contents(parent) == dict.fromkeys(NAMES, "new")


def test_others_in_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "README").mkdir()
    (tmp_path / "README" / "file").write_text("precious")
    write(tmp_path, "new")
    assert contents(tmp_path) == {**dict.fromkeys(NAMES, "new"), "README": "precious"}


def test_nothing_is_left_of_a_run_that_fails(tmp_path: Path) -> None:
    parent = tmp_path / "a" / "b"
    with pytest.raises(RuntimeError), output_folders(parent) as outputs:
        os.mkdir(outputs.partial(str(parent / "encoder")))
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_a_replacement_that_fails_restores_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "old")
    rename = os.replace

    def failing(source: str, target: str) -> None:
        if target.endswith("encoder"):
            raise OSError("the disk is gone")
        rename(source, target)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="the disk is gone"):
        patch.setattr(os, "replace", failing)
        write(tmp_path, "new", overwrite=True)
    assert contents(tmp_path) == dict.fromkeys(NAMES, "old")


def test_what_is_no_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "encoder").write_text("precious")
    with pytest.raises(NotADirectoryError, match="is not a folder to replace"):
        write(tmp_path, "new", overwrite=True)
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        write(tmp_path / "encoder", "new")
    assert (tmp_path / "encoder").read_text() == "precious"


@pytest.mark.parametrize("foreign", [".bashrc", "thesis/chapter", "thesis/", "link", "file/deeper"])
def test_a_folder_with_something_else_in_it_is_not_replaced(tmp_path: Path, foreign: str) -> None:
    write(tmp_path, "old")
    path = tmp_path / "encoder" / foreign
    if foreign == "link":
        path.symlink_to(tmp_path)
    elif foreign.endswith("/"):
        path.mkdir()
    elif foreign == "file/deeper":
        path.parent.unlink()
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    before = sorted(tmp_path.rglob("*"))
    name = foreign.split("/")[0]
    with pytest.raises(FileExistsError, match=rf"holds '{name}/?', which test has not") as caught:
        write(tmp_path, "new", overwrite=True)
    assert caught.value.filename == str(tmp_path / "encoder")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_of_another_maker_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path, "old", maker="other")
    with pytest.raises(FileExistsError, match="was made by other, not by test"):
        write(tmp_path, "new", overwrite=True)
    os.remove(tmp_path / "preprocess" / PRODUCT_LIST)
    with pytest.raises(FileExistsError, match=r"was not made by test \(it has no bert_data.json\)"):
        write(tmp_path, "new", overwrite=True)
    (tmp_path / "preprocess" / PRODUCT_LIST).write_text('{"made_by": "test", "files": 7}')
    with pytest.raises(FileExistsError, match="was not made by test"):
        write(tmp_path, "new", overwrite=True)
    assert contents(tmp_path) == dict.fromkeys(NAMES, "old")


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).mkdir()
    write(tmp_path, "new", overwrite=True)
    assert contents(tmp_path) == dict.fromkeys(NAMES, "new")


def test_what_appears_in_a_folder_while_a_run_works_stays(tmp_path: Path) -> None:
    write(tmp_path, "old")
    paths = [str(tmp_path / name) for name in NAMES]
    with (
        pytest.raises(FileExistsError, match="holds 'thesis'"),
        output_folders(tmp_path, overwrite=True) as outputs,
    ):
        for path in paths:
            os.mkdir(outputs.partial(path))
        (tmp_path / "encoder" / "thesis").touch()
        outputs.commit(paths)
    assert contents(tmp_path) == dict.fromkeys(NAMES, "old")


def test_a_remote_folder_with_something_else_in_it_is_not_replaced(
    object_store: ObjectStore,
) -> None:
    def write_remote(text: bytes) -> None:
        path = object_store.uri("hub/encoder")
        arguments = {"folders": [path], "reads": [], "overwrite": True, "maker": "test"}
        with OutputSet(object_store.uri("hub/export"), [], **arguments) as outputs:
            os.mkdir(outputs.partial(path))
            Path(outputs.partial(path), "file").write_bytes(text)
            outputs.commit([path])

    write_remote(b"old")
    write_remote(b"new")
    assert object_store.get("hub/encoder/file") == b"new"
    object_store.put("hub/encoder/thesis/chapter", b"precious")
    with pytest.raises(FileExistsError, match="holds 'thesis/chapter'"):
        write_remote(b"newer")
    assert object_store.get("hub/encoder/file") == b"new"


def test_a_second_run_for_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (
        output_folders(tmp_path),
        pytest.raises(BlockingIOError, match="another run is writing this output"),
    ):
        write(tmp_path, "new")


@pytest.mark.parametrize("dies_at", range(1, 9))
@pytest.mark.process
def test_killed_at_every_step(checkout: Path, tmp_path: Path, dies_at: int) -> None:
    parent = tmp_path / "hub"
    write(parent, "old")
    command = [sys.executable, "-c", DYING, str(parent), str(dies_at)]
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if dies_at < 8:
        assert result.returncode == -signal.SIGKILL
    seen = {path.name: path for path in parent.iterdir() if not path.name.startswith(".")}
    texts = {(path / "file").read_text() for path in seen.values()}
    assert len(texts) <= 1, "a mixture of old and new"
    assert set(seen) <= set(NAMES)
    with pytest.raises(FileExistsError, match="exists already"):
        write(parent, "newest")  # restores what the killed run was replacing
    assert contents(parent) in (dict.fromkeys(NAMES, "old"), dict.fromkeys(NAMES, "new"))
    write(parent, "newest", overwrite=True)
    assert contents(parent) == dict.fromkeys(NAMES, "newest")
