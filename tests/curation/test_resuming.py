"""Runs that are killed and started again; work folders of different runs."""

import json
import shutil
from pathlib import Path

import pytest

from bert_data import storage
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.steps.field_filters import ScoreSampling
from bert_data.storage import OutputSet
from bert_data.work import read_report
from tests.curation.corpora import write_rows
from tests.curation.fake_steps import Copies, Fails, Few, Unique, Without
from tests.curation.running.test_run import contents, run, texts, web  # noqa: F401


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


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
    states = {path: path.stat().st_mtime_ns for path in work.glob("pass-*/[!.]*/task")}
    (joined,) = (path.parent for path in states if path.parent.name.startswith("joined"))
    num_done = len(states) - 1 + len(read_report(str(joined)))
    assert num_done > len(states) >= 6
    for name in ("remove_if_empty", "remove_folder"):
        monkeypatch.setattr(storage, name, lambda path: None)
    done = run(tmp_path, steps, num_workers=num_workers)
    assert done.num_resumed == num_done
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
    with pytest.raises(ValueError, match=r"2 documents left for 3 output files"):
        run(tmp_path, [Few()])
    done = run(tmp_path, [Few()], output=Output(files=str(tmp_path / "out/o.jsonl")))
    assert done.num_resumed == 1


def test_a_missing_field_leaves_nothing_as_the_same_run_would_end_there_again(tmp_path):
    write_rows(tmp_path / "web.jsonl", [{"text": "one"}, {"text": "two"}])
    with pytest.raises(ValueError, match=r"^step score_sampling: document .* has no field 's'"):
        run(tmp_path, [Unique(), ScoreSampling(score_field="s")])
    assert hidden(tmp_path / "out") == []
