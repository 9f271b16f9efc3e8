"""Bundles of named tensors: whole or not there, and readable by TensorFlow itself."""

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.errors import CorruptDataError
from bert_data.storage import paths
from bert_data.training.checkpoints import (
    Checkpoint,
    last_whole_checkpoint,
    latest_checkpoint,
    remove_unfinished,
    save_checkpoint,
)
from bert_data.training.run_output import TensorBoard
from tests.forking import Programs
from tests.full_disk import full_disk
from tests.object_store import ObjectStore
from tests.rows import mostly_slow


def save(folder: Path | str, step: int, *, num_kept: int = 3) -> str:
    values = {
        "bert/kernel": np.full((2, 3), step, np.float32),
        "global_step": np.int64(step),
        "data/description": np.array("é", object),
    }
    return save_checkpoint(str(folder), step, values, num_kept=num_kept)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    prefix = save(tmp_path, 7)
    assert prefix == str(tmp_path / "model.ckpt-7")
    checkpoint = Checkpoint(prefix)
    np.testing.assert_array_equal(checkpoint.read("bert/kernel"), np.full((2, 3), 7))
    assert checkpoint.read("global_step") == 7
    assert checkpoint.read("data/description").decode() == "é"
    assert checkpoint.shape("bert/kernel") == [2, 3]
    assert "bert/kernel" in checkpoint and "bert/bias" not in checkpoint
    with pytest.raises(ValueError, match=r"has no variable 'bert/bias'"):
        checkpoint.read("bert/bias")
    assert tf.train.load_variable(prefix, "bert/kernel").shape == (2, 3)
    for ending in (".index", ".meta", ".data-00000-of-00001"):  # as a shell completes the name
        assert Checkpoint(prefix + ending).prefix == prefix


def test_the_last_ones_are_kept(tmp_path: Path) -> None:
    assert latest_checkpoint(str(tmp_path)) is None
    for step in (5, 10, 100, 110):
        save(tmp_path, step, num_kept=2)
    assert latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-110")
    assert Checkpoint(str(tmp_path)).prefix == str(tmp_path / "model.ckpt-110")
    left = sorted(os.listdir(tmp_path))
    assert [name for name in left if name.endswith(".index")] == [
        "model.ckpt-100.index",
        "model.ckpt-110.index",
    ]
    assert len(left) == 5
    save(tmp_path, 110, num_kept=2)  # the same step again replaces its own
    assert sorted(os.listdir(tmp_path)) == left


def test_a_moved_folder_is_found_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    save(tmp_path / "a", 3)
    (tmp_path / "a").rename(tmp_path / "b")
    assert latest_checkpoint(str(tmp_path / "b")) == str(tmp_path / "b" / "model.ckpt-3")


@pytest.mark.parametrize(
    "name",
    ["{0}/other/model.ckpt-9", "../other/model.ckpt-9", "../gone-8", "hdfs://a/model.ckpt-9"],
)
def test_a_list_that_names_a_checkpoint_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    for folder, step in (("own", 7), ("other", 9)):
        (tmp_path / folder).mkdir(exist_ok=True)
        save(tmp_path / folder, step)
    listed = name.format(tmp_path)
    (tmp_path / "own" / "checkpoint").write_text(f'model_checkpoint_path: "{listed}"\n')
    with pytest.raises(ValueError, match=f"own/checkpoint names {listed}, which is not in this"):
        latest_checkpoint(str(tmp_path / "own"))


def test_whole_paths_of_a_folder_are_its_own_also_in_a_copy(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for step in (7, 9):
        save(tmp_path / "a", step)
    listed = f'model_checkpoint_path: "{tmp_path}/a/model.ckpt-7"\n'
    (tmp_path / "a" / "checkpoint").write_text(listed)
    assert latest_checkpoint(f"{tmp_path}/a/") == f"{tmp_path}/a/model.ckpt-7"
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert latest_checkpoint(str(tmp_path / "b")) == str(tmp_path / "b" / "model.ckpt-7")


def test_without_the_list_the_bundle_of_the_most_steps_is_the_last(tmp_path: Path) -> None:
    for step in (9, 10, 100):
        save(tmp_path, step)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-9"\n')
    assert latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-9")  # as its user says
    for content in ('model_checkpoint_path: "model.ckpt-11"', "", None):
        if content is None:
            (tmp_path / "checkpoint").unlink()
        else:
            (tmp_path / "checkpoint").write_text(content)
        assert latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-100")
    save(tmp_path, 101, num_kept=2)
    assert sorted(path.stem for path in tmp_path.glob("*.index")) == [
        "model.ckpt-100",
        "model.ckpt-101",
    ]


def test_what_a_killed_run_leaves_is_removed(tmp_path: Path) -> None:
    save(tmp_path, 3)
    before = sorted(os.listdir(tmp_path))
    left = "model.ckpt-6.data-00000-of-00001.tempstate123", "model.ckpt-6.index.tempstate9"
    for name in (*left, os.path.basename(paths.writing_path("checkpoint", paths.new_token()))):
        (tmp_path / name).write_bytes(b"x")
    remove_unfinished(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == before


def test_what_only_looks_like_a_checkpoint_stays(tmp_path: Path) -> None:
    """Also if a checkpoint of these steps is written again, and removed."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "file").write_bytes(b"precious")
    save(tmp_path, 3)
    folder = tmp_path / "model.ckpt-3.data-00001-of-00002"
    for name in ("model.ckpt-3.data-backup", "model.ckpt-3.index.tempstate-of-mine"):
        (tmp_path / name).write_bytes(b"precious")
    folder.mkdir()
    (folder / "file").write_bytes(b"precious")
    (tmp_path / "model.ckpt-3.index.tempstate1").symlink_to(theirs)
    before = {str(path) for path in tmp_path.rglob("*")}
    remove_unfinished(str(tmp_path))
    save(tmp_path, 3)
    save(tmp_path, 4, num_kept=1)
    after = {str(path) for path in tmp_path.rglob("*")}
    assert before - after == {
        f"{tmp_path}/model.ckpt-3.{ending}" for ending in ("index", "data-00000-of-00001")
    }


def test_no_checkpoint_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no checkpoint '.*none' \(no file .*none.index"):
        Checkpoint(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="there is no checkpoint"):
        Checkpoint(str(tmp_path))


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    prefix = save(tmp_path, 3)
    data = Path(f"{prefix}.data-00000-of-00001")
    data.write_bytes(bytes(reversed(data.read_bytes())))
    with pytest.raises(CorruptDataError, match="bert/kernel"):
        Checkpoint(prefix).read("bert/kernel")
    Path(f"{prefix}.index").write_bytes(b"")
    with pytest.raises(CorruptDataError, match=r"model.ckpt-3.index"):
        Checkpoint(prefix)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing", "index"])
def test_an_older_checkpoint_is_named_and_used_if_asked_for(tmp_path: Path, damage: str) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step)
    data = tmp_path / "model.ckpt-3.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[5] ^= 1
    if damage == "index":
        (tmp_path / "model.ckpt-3.index").write_bytes(b"x")
    elif damage == "missing":
        data.unlink()
    else:
        data.write_bytes(content if damage == "flipped" else content[:10])
    (tmp_path / "model.ckpt-2.index").write_bytes(b"")
    advice = rf"`use_older_checkpoint` continues from {tmp_path}/model.ckpt-1"
    with pytest.raises(CorruptDataError, match=rf"{tmp_path}/model.ckpt-3.*; {advice}") as error:
        last_whole_checkpoint(str(tmp_path))
    assert ("the checkpoint is cut short" in str(error.value)) == (damage == "truncated")
    prefix = last_whole_checkpoint(str(tmp_path), use_older=True)
    assert prefix == str(tmp_path / "model.ckpt-1")
    (tmp_path / "model.ckpt-1.index").unlink()
    with pytest.raises(CorruptDataError, match=r"model.ckpt-3") as error:
        last_whole_checkpoint(str(tmp_path), use_older=True)
    assert "use_older" not in str(error.value)


def test_a_whole_last_checkpoint_is_used_as_it_is(tmp_path: Path) -> None:
    assert last_whole_checkpoint(str(tmp_path)) is None
    save(tmp_path, 3)
    assert last_whole_checkpoint(str(tmp_path), use_older=True) == str(tmp_path / "model.ckpt-3")


@pytest.mark.parametrize("num_bytes", [5, 100])  # the data do not fit, or the index
def test_what_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path, num_bytes: int) -> None:
    save(tmp_path, 3)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with (
        full_disk(num_bytes),
        pytest.raises(OSError, match=rf"{tmp_path}/model.ckpt-6: cannot be written: File too la"),
    ):
        save(tmp_path, 6)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert save(tmp_path, 6) == latest_checkpoint(str(tmp_path))


def test_curves_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with full_disk(5), pytest.raises(OSError, match=rf"{tmp_path}: cannot be written: File too"):
        TensorBoard(str(tmp_path))


def test_a_remote_folder_holds_what_a_local_one_does(
    object_store: ObjectStore, tmp_path: Path
) -> None:
    folder = object_store.uri("out")
    assert latest_checkpoint(folder) is None
    remove_unfinished(folder)
    for step in (5, 10, 110):
        save(tmp_path, step, num_kept=2)
        prefix = save(folder, step, num_kept=2)
    contents = object_store.contents("out/")
    contents.pop("", None)  # pyarrow marks the folder of a removed object
    assert contents == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert last_whole_checkpoint(folder) == prefix == f"{folder}/model.ckpt-110"
    checkpoint = Checkpoint(folder)
    assert checkpoint.read("global_step") == 110
    np.testing.assert_array_equal(checkpoint.read("bert/kernel"), np.full((2, 3), 110))
    puts = [each.key.rpartition("/")[2] for each in object_store.requests if each.method == "PUT"]
    assert list(filter(None, puts))[-3:] == [
        "model.ckpt-110.data-00000-of-00001",
        "model.ckpt-110.index",
        "checkpoint",
    ]


@mostly_slow("key", ["model.ckpt-6.data", "model.ckpt-6.index", "/checkpoint$"])
def test_a_failed_upload_leaves_the_checkpoint_before(object_store: ObjectStore, key: str) -> None:
    folder = object_store.uri("out")
    save(folder, 3)
    object_store.fail("403", method="PUT", key=key, times=9)
    with pytest.raises(PermissionError, match=folder):
        save(folder, 6)
    assert last_whole_checkpoint(folder) == f"{folder}/model.ckpt-3"
    object_store.clear()
    remove_unfinished(folder)
    assert save(folder, 6) == last_whole_checkpoint(folder)


def test_a_damaged_remote_checkpoint_names_a_whole_one(object_store: ObjectStore) -> None:
    folder = object_store.uri("out")
    for step in (3, 6):
        save(folder, step)
    object_store.put("out/model.ckpt-6.data-00000-of-00001", b"x")
    with pytest.raises(
        CorruptDataError,
        match=rf"{folder}/model.ckpt-6.*cut short; .* continues from .*model.ckpt-3",
    ):
        last_whole_checkpoint(folder)
    assert last_whole_checkpoint(folder, use_older=True) == f"{folder}/model.ckpt-3"


KILLED = """
import sys
import numpy as np
from bert_data.training.checkpoints import save_checkpoint
for step in (3, 6):
    save_checkpoint(sys.argv[1], step, {"global_step": np.int64(step)}, num_kept=3)
"""


@pytest.mark.process
@pytest.mark.slow
def test_a_kill_in_an_upload_leaves_the_checkpoint_before(
    object_store: ObjectStore, tensorflow_programs: Programs, tmp_path: Path
) -> None:
    folder = object_store.uri("out")
    object_store.fail("hang", method="PUT", key="model.ckpt-6.index", times=9)
    (tmp_path / "program.py").write_text(KILLED)
    program = tensorflow_programs.start(["program.py", folder], cwd=tmp_path)
    object_store.wait_for("PUT", key="model.ckpt-6.index")
    program.send_signal(signal.SIGKILL)
    program.communicate()
    assert program.returncode == -signal.SIGKILL
    assert "out/model.ckpt-6.data-00000-of-00001" in object_store.keys("out")
    assert last_whole_checkpoint(folder) == f"{folder}/model.ckpt-3"
    remove_unfinished(folder)
    assert object_store.keys("out/model.ckpt-6") == []


def test_curves_are_uploaded(object_store: ObjectStore) -> None:
    curves = TensorBoard(object_store.uri("out"))
    curves.write(3, {"loss": 2.0})
    curves.publish()
    (name,) = object_store.keys("out/events.")
    before = object_store.get(name)
    curves.write(6, {"loss": 1.0})
    curves.publish()
    assert object_store.keys("out/events.") == [name]
    after = object_store.get(name)
    assert before and after and after.startswith(before) and len(after) > len(before)
