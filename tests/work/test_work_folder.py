"""The folder of unfinished work stays while it is of use, and damage in it is noticed."""

import contextlib
import os
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.storage import paths
from bert_data.work import THIS_MACHINE, Filled, FolderTask, open_work, open_work_folder, run_tasks
from bert_data.work.work_folder import finish_removal, has_committed, note_commit
from tests.work.test_tasks import Letters, write_letters

RUN, OTHER = "f1" * 8, "f2" * 8  # as fingerprints are
OPTIONS = {"num_workers": 1, "engine": THIS_MACHINE, "task_bytes": 0}


class TestWorkFolder:
    def use(self, parent, name=RUN, *, done=True, error=None, is_own=True, keeps=False, **options):
        """A run that may do a task, and may end with an error."""
        options |= OPTIONS | {"is_own": is_own, "keeps_inputs": keeps}
        with open_work(str(parent), name, **options) as (root, _):
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
            self.use(tmp_path / "work", RUN, error=ValueError())
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", OTHER, error=ValueError())
        assert "unfinished work of 1 other run," in caplog.text
        assert sorted(os.listdir(tmp_path / "work")) == [RUN, OTHER]
        assert self.use(tmp_path / "work", OTHER) == ["t"]
        assert os.listdir(tmp_path) == []

    def test_a_parent_that_others_use_stays(self, tmp_path, caplog):
        (tmp_path / "shared").mkdir()
        with pytest.raises(ValueError):
            self.use(tmp_path / "shared", RUN, error=ValueError(), is_own=False)
        self.use(tmp_path / "shared", OTHER, is_own=False)
        assert os.listdir(tmp_path / "shared") == [RUN]
        self.use(tmp_path / "shared", RUN, is_own=False)
        assert os.listdir(tmp_path / "shared") == []
        self.use(tmp_path / "new", is_own=False)
        assert os.listdir(tmp_path) == ["shared"]
        assert "unfinished work of" not in caplog.text

    @pytest.mark.parametrize("name", ["letters", "task", "in/new"])
    def test_goes_if_a_file_of_a_task_is_damaged(self, tmp_path, caplog, name):
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", error=ValueError())
        path = tmp_path / f"work/{RUN}/t/a" / name
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
            made = FolderTask(parent=f"{root}/t", function=write)(Letters("abc"))
            assert made.report == {"number": 3, "half": 0.5, "path": "x"}
            raise KeyError
        assert self.use(tmp_path, "f", done=False, is_own=False) == there
        assert ("damaged" in caplog.text) != bool(there)

    @pytest.mark.parametrize("name", ["letters", "task"])
    def test_a_damaged_task_alone_runs_again_if_what_tasks_read_stays(self, tmp_path, caplog, name):
        def run(error: type[Exception] | None) -> list[bool]:
            options = OPTIONS | {"is_own": True, "keeps_inputs": True}
            with open_work(str(tmp_path / "work"), RUN, **options) as (root, executor):
                task = FolderTask(parent=f"{root}/t", function=write_letters)
                items = [*map(Letters, ("a", "bb", "ccc"))]
                done = [is_new for _, is_new in run_tasks("t", task, items, executor)]
                if error is not None:
                    raise error
            return done

        with pytest.raises(KeyError):
            run(KeyError)
        path = tmp_path / f"work/{RUN}/t/bb/letters"
        path.write_text("b!")
        assert run(None) == [False, True, False]
        assert f"{path}: byte offset 0: not the file that the task wrote" in caplog.text
        with pytest.raises(KeyError):
            run(KeyError)
        os.remove(tmp_path / f"work/{RUN}/t/a" / name)
        assert run(None) == [True, False, False]
        assert f"work/{RUN}/t/a/{name}: byte offset 0: " in caplog.text
        assert os.listdir(tmp_path) == []

    def test_what_a_task_has_used_may_be_gone_but_no_report(self, tmp_path, caplog):
        def run(name: str) -> list[str]:
            with pytest.raises(KeyError):
                self.use(tmp_path, error=KeyError(), is_own=False)
            os.remove(tmp_path / f"{RUN}/t/a" / name)
            return self.use(tmp_path, is_own=False)

        assert (run("letters"), run("task")) == (["t"], [])
        assert "t/a/letters" not in caplog.text
        assert "t/a/task: byte offset 0: not readable" in caplog.text

    @pytest.mark.parametrize("keeps", [True, False])
    def test_what_a_run_finds_damaged_later_is_made_again(self, tmp_path, keeps):
        for name in ("a", "bb"):
            FolderTask(parent=f"{tmp_path}/{RUN}/t", function=write_letters)(Letters(name))
        damaged = CorruptDataError(f"{tmp_path}/{RUN}/t/bb/letters", 0, "x")
        with pytest.raises(CorruptDataError):
            self.use(tmp_path, done=False, error=damaged, is_own=False, keeps=keeps)
        left = [path.name for path in tmp_path.glob(f"{RUN}/t/*")]
        assert left == (["a"] if keeps else [])

    @pytest.mark.parametrize("path", ["in.gz", f"{RUN}/t", f"{RUN}-other/t/a/letters"])
    def test_work_stays_if_a_run_finds_another_file_damaged(self, tmp_path, path):
        FolderTask(parent=f"{tmp_path}/{RUN}/t", function=write_letters)(Letters("a"))
        with pytest.raises(CorruptDataError):
            self.use(tmp_path, done=False, error=CorruptDataError(tmp_path / path, 0, "x"))
        assert (tmp_path / f"{RUN}/t/a/letters").exists()

    def test_stays_if_a_task_removed_what_it_used(self, tmp_path):
        with pytest.raises(ValueError):
            self.use(tmp_path / "work", error=ValueError())
        (tmp_path / f"work/{RUN}/t/a/letters").unlink()
        assert self.use(tmp_path / "work") == ["t"]


class TestInAnObjectStore:
    def run(self, store, *names, function=write_letters, keep=False, keeps_inputs=False):
        """A run that does tasks in bucket/work/RUN; returns whether it did each, or None."""
        done = []
        with (
            contextlib.suppress(KeyError),
            open_work(
                store.uri("work"), RUN, is_own=True, keeps_inputs=keeps_inputs, **OPTIONS
            ) as (root, executor),
        ):
            task = FolderTask(parent=f"{root}/t", function=function)
            done = [new for _, new in run_tasks("t", task, [*map(Letters, names)], executor)]
            if keep:
                raise KeyError
        return done

    def test_a_run_resumes_and_removes_its_folder(self, object_store):
        assert self.run(object_store, "a", "bb", keep=True) == [True, True]
        names = ("letters", "task")
        assert object_store.keys(f"work/{RUN}/t/a/") == [f"work/{RUN}/t/a/{name}" for name in names]
        assert self.run(object_store, "a", "bb", "c") == [False, False, True]
        assert not any(object_store.contents("work/").values())

    def test_a_task_whose_upload_did_not_end_is_not_done(self, object_store, caplog):
        self.run(object_store, "a", "bb", keep=True)
        object_store.remove(f"work/{RUN}/t/a/task")
        assert self.run(object_store, "a", "bb") == [True, False]
        assert "damaged" not in caplog.text

    def test_a_failing_upload_leaves_no_finished_task(self, object_store):
        object_store.fail("403", method="PUT", key="a/letters", times=99)
        with pytest.raises(PermissionError):
            self.run(object_store, "a")
        assert not object_store.get(f"work/{RUN}/t/a/task")

    @pytest.mark.slow
    def test_requests_are_a_few_for_each_task_however_many_there_are(self, object_store):
        """To resume, a folder is listed and two small files are read."""

        def resume(*names: str) -> int:
            self.run(object_store, *names, keep=True)
            object_store.clear()
            assert not any(self.run(object_store, *names, keep=True))
            return len(object_store.requests)

        few = resume(*(f"a{n}" for n in range(5)))
        many = resume(*(f"a{n}" for n in range(25)))
        assert many - few <= 5 * 20
        assert few <= 5 * 5 + 20

    def test_a_file_of_another_size_is_damage(self, object_store, caplog):
        self.run(object_store, "a", keep=True)
        object_store.put(f"work/{RUN}/t/a/letters", b"other")
        assert self.run(object_store, "a") == [True]
        assert "a/letters: byte offset 0: not the file that the task wrote" in caplog.text


class TestDataOfOthers:
    """Files that a run has not made stay, though they lie in a folder that only the run uses."""

    def test_names_that_no_run_has(self, tmp_path):
        theirs, parent = tmp_path / "theirs", tmp_path / "work"
        for path in (theirs / "file", parent / "notes.txt", parent / "thesis" / "file"):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"precious")
        (parent / ("a" * 16)).symlink_to(theirs)
        (parent / ("b" * 16)).write_bytes(b"precious")
        (parent / ("c" * 16)).mkdir()
        before = {path for path in tmp_path.rglob("*") if path.name != "c" * 16}
        TestWorkFolder().use(parent)
        assert set(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize("name", ["work", f"work/{RUN}"])
    def test_a_planted_link_is_not_followed(self, tmp_path, name):
        (tmp_path / "theirs" / RUN / "t").mkdir(parents=True)
        before = set((tmp_path / "theirs").rglob("*"))
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(tmp_path / "theirs")
        with pytest.raises(PermissionError, match="is not a folder of this user"):
            TestWorkFolder().use(tmp_path / "work")
        assert set((tmp_path / "theirs").rglob("*")) == before

    def test_a_folder_of_another_user_where_everyone_may_write(self, tmp_path, monkeypatch):
        (tmp_path / "work").mkdir()
        monkeypatch.setattr(os, "geteuid", lambda: 1 + os.getuid())
        tmp_path.chmod(0o1777)
        with pytest.raises(PermissionError, match="is not a folder of this user"):
            TestWorkFolder().use(tmp_path / "work")
        tmp_path.chmod(0o755)
        TestWorkFolder().use(tmp_path / "work")


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
    half_removed = paths.writing_path(str(parent / "run"), paths.new_token())
    os.rename(parent / "run", half_removed)
    finish_removal(str(parent), is_own=is_own)
    assert parent.exists() != is_own
