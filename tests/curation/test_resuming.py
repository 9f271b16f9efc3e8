"""Runs that are killed and started again; work folders of different runs."""

import functools
import itertools
import json
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bert_data import storage
from bert_data.curation.running.pipeline import Output
from bert_data.curation.steps.field_filters import ScoreSampling
from bert_data.storage import OutputSet
from tests.curation.fake_steps import Copies, Fails, Few, Unique, Without
from tests.curation.running.test_run import contents, run, texts, web, write_rows  # noqa: F401
from tests.forking import Programs

PROGRAM = """
from bert_data.cli import curate, entry
from bert_data.curation.running import stages
stages.ONE_TASK_SHARE = 10**12  # so that deciding takes rounds
if __name__ == "__main__":
    entry.run(curate.main)
"""
MIX = "mix:exponent=0.5,bucket_field=score,bucket_percentiles=[20,60]"
STEPS = ["--steps=length:min_words=3 exact_duplicates repair"]


class Program:
    """The command in a folder, well or killed."""

    def __init__(self, checkout: Path, folder: Path, programs: Programs) -> None:
        self._programs = programs
        script = folder / "program.py"
        script.write_text(PROGRAM)
        self._script = str(script)
        self._dying = str(checkout / "tests/dying_program.py")
        self.folder = folder
        rows = [{"text": text} for text in texts(200)]
        write_rows(folder / "web.jsonl", rows)

    def run(
        self, *flags: str, die_at: int | None = None, steps: Sequence[str] = STEPS
    ) -> subprocess.CompletedProcess[str]:
        command = [self._script, "--input_file=web.jsonl", "--shard_mb=0.001", *steps, *flags]
        if die_at is not None:
            command = [self._dying, "SIGKILL", str(die_at), str(self.folder), *command]
        return self._programs.run(command, cwd=self.folder)


@pytest.fixture
def program(checkout, tmp_path, programs) -> Program:
    return Program(checkout, tmp_path, programs)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


@pytest.mark.process
def test_killed_at_many_places_and_started_again(program):
    """Each run is killed later than the one before; what it has left is taken by the next one."""
    out = program.folder / "out"
    flags = ["--output_file=out/o.jsonl@2", "--rejected_file=out/r.jsonl.gz@2", "--num_workers=1"]
    done = program.run(*flags)
    assert done.returncode == 0, done.stderr
    whole = contents(out)
    shutil.rmtree(out)
    resumed, has_gone_on = 0, False
    for die_at in itertools.count(8, 31):
        killed = program.run(*flags, die_at=die_at)
        if killed.returncode == 0:
            break
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        if (out / "curation.o.jsonl.json").exists():  # all is whole, and what is left is hidden
            assert {path.name: path.read_bytes() for path in out.glob("[!.]*")} == whole
            done = program.run(*flags)
            assert done.returncode == 0 or "exists" in done.stderr, done.stderr
            break
        resumed += "were done by an earlier run" in killed.stderr
        if not has_gone_on and any(out.glob(".*.curation/*/pass-0/[0-9]*")):
            has_gone_on = True
            files = contents(out)
            last = program.run(*flags)
            assert last.returncode == 0, last.stderr
            assert "were done by an earlier run" in last.stderr
            assert contents(out) == whole
            shutil.rmtree(out)
            for name in files:
                assert not name.startswith("o-")
    assert resumed > 1 and has_gone_on
    assert contents(out) == whole
    assert hidden(out) == []


@pytest.mark.parametrize(
    ("step", "later"), [("near_duplicates", 80), ("substring_duplicates:length=5", 80), (MIX, 25)]
)
@pytest.mark.process
@pytest.mark.slow
def test_killed_in_the_rounds_of_a_decision(program, step, later):
    rows = [
        {"text": " ".join(f"{(i % 40) * k % 97}" for k in range(60)), "score": i % 7}
        for i in range(60)
    ]
    write_rows(program.folder / "web.jsonl", rows)
    out, work = program.folder / "out", ".o.jsonl.curation"
    run = functools.partial(
        program.run, "--output_file=out/o.jsonl", "--num_workers=1", steps=[f"--steps={step}"]
    )
    done = run()
    assert done.returncode == 0, done.stderr
    whole = contents(out)
    assert b'"rejected": {' in whole["curation.o.jsonl.json"]
    shutil.rmtree(out)
    rounds = set()
    for die_at in itertools.count(later, later):
        killed = run(die_at=die_at)
        rounds.add(max((path.parts[-2] for path in out.glob(f"{work}/*/decided-*/*")), default=""))
        if (out / "curation.o.jsonl.json").exists():
            break
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(rounds) > 2
    assert {path.name: path.read_bytes() for path in out.glob("[!.]*")} == whole


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.process
def test_only_unfinished_shards_are_done_again(tmp_path, web, num_workers, monkeypatch):  # noqa: F811
    """A worker dies in the midst of the third pass; a shard of the first pass is made again."""
    once = tmp_path / "once"
    steps = [Few(), Unique(), Copies(), Fails(letter="9", once=str(once)), Without()]
    write_rows(tmp_path / "web.jsonl", [{"text": text} for text in [*texts(150), "9", "10"]])
    with pytest.raises(ChildProcessError, match="ended by SIGKILL"):
        run(tmp_path, steps, num_workers=2)
    (work,) = (tmp_path / "out/.o.jsonl.curation").iterdir()
    states = {path: path.stat().st_mtime_ns for path in work.glob("pass-*/*/report.json")}
    assert len(states) >= 6
    for name in ("remove_if_empty", "remove_folder"):
        monkeypatch.setattr(storage, name, lambda path: None)
    done = run(tmp_path, steps, num_workers=num_workers)
    assert done.num_resumed == len(states)
    assert {path: path.stat().st_mtime_ns for path in states} == states
    monkeypatch.undo()
    files = contents(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    run(tmp_path, steps)
    again = contents(tmp_path / "out")
    assert {name: files[name] for name in again} == again


def test_a_killed_decision_is_made_anew(tmp_path, web):  # noqa: F811
    """The files that a killed `decide` has left are not there when it is called again."""

    class Killed(BaseException):
        pass

    folders: list[Path] = []

    def die(self, rounds):
        folders.append(Path(rounds.folder).parent)
        (folders[0] / "earlier").write_text("[")
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unique, "decide", die)
        with pytest.raises(Killed):
            run(tmp_path, [Unique()])
    (work,) = (tmp_path / "out/.o.jsonl.curation").iterdir()
    assert list((work / "decided").iterdir()) == []
    seen = []

    def look(self, rounds):
        seen.append(sorted(path.name for path in Path(rounds.folder).parent.iterdir()))
        return decide(self, rounds)

    decide = Unique.decide
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unique, "decide", look)
        done = run(tmp_path, [Unique()])
    assert seen == [[]]
    assert done.num_resumed == len(done.shards)


def test_other_pipelines_and_files_do_not_take_what_is_there(tmp_path, web):  # noqa: F811
    work = tmp_path / "work"
    fails = Fails(letter="34 y x")  # first in a later shard
    for _ in range(2):
        with pytest.raises(ValueError, match="step fails cannot judge"):
            run(tmp_path, [fails], work_dir=str(work), on_error="strict")
    assert len(list(work.glob("*/pass-0/000000"))) == 1
    done = run(tmp_path, [Few()], work_dir=str(work))
    assert done.num_resumed == 0
    shutil.rmtree(tmp_path / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bert_data.curation.running.run.describe_as_json", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, [Few()], work_dir=str(work))
    rows = web.read_text().replace("word 1", "WORD 1")
    web.write_text(rows)
    done = run(tmp_path, [Few()], work_dir=str(work))
    assert done.num_resumed == 0
    texts_found = [
        json.loads(line)["text"]
        for path in sorted((tmp_path / "out").glob("o-*"))
        for line in path.read_text().splitlines()
    ]
    assert any(text.startswith("WORD 1") for text in texts_found)


def test_an_interrupted_run_goes_on(tmp_path, web):  # noqa: F811
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bert_data.curation.running.run.describe_as_json", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, [Few(), Unique()])
    done = run(tmp_path, [Few(), Unique()])
    assert done.num_resumed == 2 * len(done.shards)
    assert hidden(tmp_path / "out") == []


def interrupt(*_):
    raise KeyboardInterrupt


def test_a_run_that_was_killed_after_its_commit_is_finished_by_the_same_command(tmp_path, web):  # noqa: F811
    """Its outputs are its own, so that it may replace them, and its work folder goes."""
    commit = OutputSet.commit

    def die(self, *paths):
        commit(self, *paths)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OutputSet, "commit", die)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, [Few(), Unique()])
    before = contents(tmp_path / "out")
    assert len(hidden(tmp_path / "out")) > 0
    with pytest.raises(FileExistsError):  # other work than that of these outputs
        run(tmp_path, [Few()])
    done = run(tmp_path, [Few(), Unique()])
    assert done.num_resumed == 2 * len(done.shards)
    assert hidden(tmp_path / "out") == []
    after = contents(tmp_path / "out")
    assert after == {name: data for name, data in before.items() if name in after}
    with pytest.raises(FileExistsError):
        run(tmp_path, [Few(), Unique()])


def test_a_run_that_was_killed_while_it_removed_its_work_folder_leaves_nothing(tmp_path, web):  # noqa: F811
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bert_data.storage.changing.remove", lambda path: None)
        patch.setattr(storage, "remove_if_empty", lambda path: None)
        run(tmp_path, [Few()])
    assert len(hidden(tmp_path / "out")) > 0
    with pytest.raises(FileExistsError):
        run(tmp_path, [Few()])
    assert hidden(tmp_path / "out") == []


def test_fewer_files_can_be_asked_for_without_doing_it_all_again(tmp_path):
    write_rows(tmp_path / "web.jsonl", [{"text": "one"}, {"text": "two"}])
    with pytest.raises(ValueError, match=r"2 documents left for 3 files"):
        run(tmp_path, [Few()])
    done = run(tmp_path, [Few()], output=Output(files=str(tmp_path / "out/o.jsonl")))
    assert done.num_resumed == 1


def test_a_missing_field_leaves_nothing_as_the_same_run_would_end_there_again(tmp_path):
    write_rows(tmp_path / "web.jsonl", [{"text": "one"}, {"text": "two"}])
    with pytest.raises(ValueError, match=r"^step score_sampling: document .* has no field 's'"):
        run(tmp_path, [Unique(), ScoreSampling(score_field="s")])
    assert hidden(tmp_path / "out") == []
