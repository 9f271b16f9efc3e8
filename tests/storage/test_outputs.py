"""Sets of files that appear whole or not at all."""

import os
from pathlib import Path

import pytest

from bert_data.storage import OutputSet, make_folder, open_folder, remote_files
from bert_data.storage.schemes import s3
from tests.program_folder import contents
from tests.storage.output_sets import fail, write_set


class TestOutputSet:
    def test_files_appear_at_the_end_and_nothing_else(self, tmp_path):
        path = str(tmp_path / "new" / "folder" / "a")
        work = tmp_path / "work"
        with OutputSet(path, [path], reads=[], overwrite=False, work_dir=str(work)) as outputs:
            assert Path(outputs.work_dir).parent == work
            (Path(outputs.work_dir) / "spill").write_bytes(b"x")
            with outputs.open(path) as file:
                file.write(b"text")
            assert not os.path.exists(path)
            outputs.commit([path])
        assert {k for k, v in contents(tmp_path).items() if v is not None} == {"new/folder/a"}
        assert list(work.iterdir()) == []

    def test_relative_names(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with OutputSet("a", ["a"], reads=[], overwrite=False, work_dir="work") as outputs:
            assert os.path.isabs(outputs.work_dir)
            with outputs.open("a") as file:
                file.write(b"text")
            outputs.commit(["a"])
        assert contents(tmp_path) == {"a": b"text", "work": None}

    def test_without_commit_nothing_is_left(self, tmp_path):
        with pytest.raises(RuntimeError):
            work_dir = str(tmp_path / "w" / "v")
            write_set(tmp_path / "new" / "folder", "text", meanwhile=fail, work_dir=work_dir)
        assert contents(tmp_path) == {}

    def test_existing_files_are_refused_before_anything_is_made(self, tmp_path):
        (tmp_path / "m").write_bytes(b"old")
        with pytest.raises(FileExistsError, match="exists already") as caught:
            write_set(tmp_path, "new")
        assert caught.value.filename == str(tmp_path / "m")
        assert contents(tmp_path) == {"m": b"old"}

    @pytest.mark.parametrize("exists", [True, False])
    def test_a_link_is_followed(self, tmp_path, exists):
        (tmp_path / "disk").mkdir()
        if exists:
            (tmp_path / "disk" / "b").write_bytes(b"old")
        (tmp_path / "b").symlink_to("disk/b")
        with pytest.raises(
            FileExistsError, match="exists already" if exists else "is a link to nothing"
        ):
            write_set(tmp_path, "new")
        write_set(tmp_path, "new", overwrite=True)
        files = dict.fromkeys(["a", "b", "disk/b", "m"], b"new")
        assert contents(tmp_path) == {**files, "disk": None}
        assert (tmp_path / "b").is_symlink()

    def test_obsolete_files_go(self, tmp_path, monkeypatch):
        """One of them is a file of the new set, under another name of its path."""
        monkeypatch.chdir(tmp_path)
        write_set(tmp_path, "old", names="abc")
        write_set(tmp_path, "", overwrite=True, obsolete=lambda: [str(tmp_path / "c"), "b"])
        assert contents(tmp_path) == dict.fromkeys("abm", b"")

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_folder_of_the_name_of_an_output(self, tmp_path, overwrite):
        write_set(tmp_path, "old")
        (tmp_path / "b").unlink()
        (tmp_path / "b" / "inside").mkdir(parents=True)
        (tmp_path / "a").unlink()
        before = contents(tmp_path)
        with pytest.raises(IsADirectoryError):
            write_set(tmp_path, "new", overwrite=overwrite)
        assert contents(tmp_path) == before

    def test_a_device_is_not_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "b")
        with pytest.raises(FileExistsError, match="is not a regular file"):
            write_set(tmp_path, "new", overwrite=True)
        assert list(tmp_path.iterdir()) == [tmp_path / "b"]

    def test_an_old_set_stays_when_the_new_one_fails(self, tmp_path):
        write_set(tmp_path, "old")
        with pytest.raises(RuntimeError):
            write_set(tmp_path, "new", overwrite=True, meanwhile=fail)
        assert contents(tmp_path) == dict.fromkeys("abm", b"old")

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_commit_of_a_file_that_was_never_written(self, tmp_path, overwrite):
        if overwrite:
            write_set(tmp_path, "old")
        before = contents(tmp_path)
        paths = [str(tmp_path / name) for name in "abm"]
        with (
            pytest.raises(OSError),
            OutputSet(paths[0], paths, reads=[], overwrite=overwrite) as outputs,
        ):
            for path in (paths[0], paths[2]):
                with outputs.open(path):
                    pass
            outputs.commit(paths[:2], paths[2:])
        assert contents(tmp_path) == before

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_commit_that_fails_changes_nothing(self, tmp_path, overwrite, monkeypatch):
        """Its files are in two folders."""
        if overwrite:
            write_set(tmp_path / "x", "old", names=["a", "../y/b"])
        before = contents(tmp_path)
        real = os.replace

        def replace(source: str, target: str) -> None:
            if target.endswith("m"):
                raise OSError(5, "broken disk", target)
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(OSError, match="broken disk"):
            write_set(tmp_path / "x", "new", names=["a", "../y/b"], overwrite=overwrite)
        assert contents(tmp_path) == before

    @pytest.mark.parametrize(
        ("name", "kind", "sentence"),
        [
            ("n" * 250, ValueError, "has a name of 250 bytes; 200 are allowed"),
            (f"a,{'n' * 256}", OSError, "name too long"),
            (f"new/{'long' * 100}/a", OSError, "name too long"),  # no folder is left
            (".a.lock", ValueError, "has a name reserved for unfinished files"),
            (".b.0123.writing", ValueError, "has a name reserved for unfinished files"),
            ("c,c", ValueError, "two outputs have the same name"),
        ],
    )
    def test_names_that_are_refused_before_anything_is_made(self, tmp_path, name, kind, sentence):
        paths = [str(tmp_path / each) for each in name.split(",")]
        with pytest.raises(kind, match=sentence):
            OutputSet(paths[0], paths, reads=[], overwrite=True).__enter__()
        assert contents(tmp_path) == {}

    def test_a_second_run_is_refused_and_does_not_disturb_the_first(self, tmp_path):
        path = str(tmp_path / "a")
        with OutputSet(path, [path], reads=[], overwrite=False) as outputs:
            with pytest.raises(
                BlockingIOError, match="another run is writing this output"
            ) as raised:
                write_set(tmp_path, "second")
            assert raised.value.filename == path
            with outputs.open(path) as file:
                file.write(b"first")
            outputs.commit([path])
        assert contents(tmp_path) == {"a": b"first"}

    @pytest.mark.parametrize("name", ["file/a", "file/new/a", "dangling/a"])
    def test_a_file_or_nothing_in_the_place_of_a_folder(self, tmp_path, name):
        (tmp_path / "file").write_bytes(b"")
        (tmp_path / "dangling").symlink_to(tmp_path / "none")
        before = contents(tmp_path)
        path = str(tmp_path / name)
        with pytest.raises(NotADirectoryError):
            OutputSet(path, [path], reads=[], overwrite=False).__enter__()
        assert contents(tmp_path) == before

    def test_the_file_of_an_error_is_named(self, tmp_path):
        if not os.path.exists("/dev/full"):
            pytest.skip("needs /dev/full, a device that is always full")
        path = str(tmp_path / "a")
        with OutputSet(path, [path], reads=[], overwrite=False) as outputs:
            os.symlink("/dev/full", outputs.partial(path))
            with (
                pytest.raises(OSError, match="No space left") as caught,
                outputs.open(path) as file,
            ):
                file.write(b"some text")
        assert caught.value.filename == path
        assert contents(tmp_path) == {}


@pytest.mark.parametrize("most_bytes", [7, 6])
def test_the_store_copies_objects_that_it_can(object_store, monkeypatch, most_bytes):
    monkeypatch.setattr(s3.S3, "most_copied_bytes", most_bytes)
    object_store.put("work/a", b"content")
    names = [object_store.uri("out/a"), object_store.uri("out/list")]
    with OutputSet(names[1], names, reads=[], overwrite=False) as outputs:
        outputs.link_in(names[0], object_store.uri("work/a"))
        with outputs.open(names[1]) as file:
            file.write(b"a")
        assert object_store.keys("out/") == []
        outputs.commit(names[:1], names[1:])
    assert object_store.contents("out/") == {"a": b"content", "list": b"a"}
    is_read = any(
        request.method == "GET" and request.key.endswith("work/a")
        for request in object_store.requests
    )
    assert is_read == (most_bytes < 7)


def test_an_object_that_cannot_be_copied_leaves_nothing(object_store):
    object_store.put("work/a", b"content")
    names = [object_store.uri("out/a"), object_store.uri("out/list")]
    with (
        pytest.raises(PermissionError, match="access is forbidden"),
        OutputSet(names[1], names, reads=[], overwrite=False) as outputs,
    ):
        outputs.link_in(names[0], object_store.uri("work/a"))
        with outputs.open(names[1]) as file:
            file.write(b"a")
        object_store.fail("403", method="PUT", key="out/a", times=100)
        outputs.commit(names[:1], names[1:])
    assert object_store.keys() == ["work/a"]


def test_objects_of_another_bucket_are_not_copied_by_the_store(object_store):
    object_store.put("a", b"content")
    assert remote_files.can_copy(object_store.uri("a"), object_store.uri("b"))
    assert not remote_files.can_copy(object_store.uri("a"), "s3://other/b")
    assert not remote_files.can_copy(object_store.uri("a"), object_store.uri("b?region=us-east-1"))
    assert not remote_files.can_copy("a", object_store.uri("b"))
    assert not remote_files.can_copy(object_store.uri("a"), "b")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no file system that makes no files")
def test_a_file_that_cannot_be_made_is_named():
    with (
        pytest.raises(FileNotFoundError) as raised,
        OutputSet("/proc/x.bin", ["/proc/x.bin"], reads=[], overwrite=False),
    ):
        pass
    assert raised.value.filename == "/proc/x.bin"


def test_uris_of_local_files_are_local(tmp_path):
    """They may stand beside paths, follow links, and leave nothing in the folder of others."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "b").symlink_to("disk/b")
    uris = [f"file://{tmp_path}/a", str(tmp_path / "b"), f"file://{tmp_path}/m"]
    with OutputSet(uris[0], uris, reads=[], overwrite=True) as outputs:
        assert (tmp_path / ".a.lock").exists()
        for uri in uris:
            with outputs.open(uri) as file:
                file.write(b"new")
        outputs.commit(uris[:-1], uris[-1:])
    files = dict.fromkeys(["a", "b", "disk/b", "m"], b"new")
    assert contents(tmp_path) == {**files, "disk": None}
    with pytest.raises(ValueError, match="two outputs have the same name"):
        OutputSet("a", [uris[0], str(tmp_path / "a")], reads=[], overwrite=True).__enter__()


def test_a_folder_that_a_shell_would_have_replaced_is_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = pytest.raises(ValueError, match=r"there is no folder .*/~; write out the home folder")
    with refused, OutputSet("~/a/b", ["~/a/b"], reads=[], overwrite=False):
        pass
    with refused:
        make_folder("~/a")
    with refused, open_folder("~/a/b"):
        pass
    assert not contents(tmp_path)
    (tmp_path / "~").mkdir()
    make_folder("~/a")
    assert os.listdir("~") == ["a"]
