"""All steps that look at the whole corpus, in one pipeline: the same files for any shards."""

import dataclasses
import json
import random
from pathlib import Path

import pyarrow.parquet
import pytest

from bert_data.curation.running import stages
from bert_data.curation.running.pipeline import DataSet, Pipeline, label_steps
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import make_step
from bert_data.work import rounds, tasks
from tests.curation.corpora import write_rows
from tests.goldens.inputs import WORDS

pytestmark = pytest.mark.process

STEPS = {
    "exact_duplicates": {},
    "near_duplicates": {},
    "contained_duplicates": {"max_containment": 0.5},
    "line_duplicates": {"max_documents": 3},
    "decontaminate": {"evaluation_texts": ["to be found " * 5], "ngram_size": 8},
    "perplexity": {"reference": "reference.txt", "max_percentile": 90},
    "semantic_duplicates": {"max_similarity": 0.98, "num_iterations": 3},
    "mix": {
        "weights": {"wiki": 1, "web": {"plain": 2, "odd": 1}},
        "bucket_field": "perplexity",
        "bucket_percentiles": 50,
        "bucket_names": ["plain", "odd"],
    },
}


def make_rows(draw: random.Random, num_rows: int) -> list[dict]:
    rows = []
    for number in range(num_rows):
        lines = [" ".join(draw.choices(WORDS, k=12)) + "." for _ in range(10)]
        kind = number % 10
        if kind == 1:
            lines = rows[-1]["text"].upper().split("\n")
        elif kind == 2:
            lines = [*rows[-2]["text"].split("\n"), "More."]
        elif kind == 3:
            lines.insert(5, "Subscribe to our letters.")
        elif kind == 4 and number < 50:
            lines.append("to be found " * 4)
        embedding = [draw.gauss(0, 1) for _ in range(4)]
        rows.append({"text": "\n".join(lines), "number": number, "embedding": embedding})
    return rows


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    for name, num_rows in (("wiki", 100), ("web", 200)):
        write_rows(tmp_path / f"{name}.jsonl", make_rows(draw, num_rows))
    reference = [" ".join(draw.choices(WORDS, k=12)) + "." for _ in range(300)]
    (tmp_path / "reference.txt").write_text("\n\n".join(reference) + "\n")
    return tmp_path


@dataclasses.dataclass(frozen=True, kw_only=True)
class LittleMemory(Pipeline):
    """With less than a user may choose."""

    max_memory_mb: float = 1000


def run(name: str, shard_mb: float, num_workers: int, max_memory_mb: float = 1000, work_dir=None):
    return run_pipeline(
        LittleMemory(
            data_sets=tuple(DataSet(name=n, files=f"{n}.jsonl") for n in ("wiki", "web")),
            steps=label_steps([make_step(n, parameters) for n, parameters in STEPS.items()]),
            output=Output(files=name),
            shard_mb=shard_mb,
            max_memory_mb=max_memory_mb,
        ),
        num_workers=num_workers,
        work_dir=work_dir,
    )


def test_what_is_kept_depends_neither_on_shards_nor_on_workers(files):
    done = run("one.jsonl", 100, 1)
    assert len(run("many.jsonl", 0.02, 2).shards) > len(done.shards) == 2
    assert (files / "one.jsonl").read_bytes() == (files / "many.jsonl").read_bytes()
    columns = ["document", "step", "rule", "value", "value_text"]
    ledgers = [
        pyarrow.parquet.read_table(f"ledger.{name}.jsonl.parquet", columns=columns).to_pylist()
        for name in ("one", "many")
    ]
    keyed = [sorted(ledger, key=lambda row: json.dumps(row)) for ledger in ledgers]
    assert keyed[0] == keyed[1]
    counts = {each.label: each for each in done.counts}
    assert counts["exact_duplicates"].num_rejected == 30
    assert counts["near_duplicates"].num_rejected == 30
    # All but three each of 30 times "Subscribe", 30 times "More." and 10 times "to be found".
    assert counts["line_duplicates"].edits == {"lines": 27 + 27 + 7}
    assert counts["decontaminate"].num_rejected == 3
    assert 0 < counts["perplexity"].num_rejected <= 24
    assert 5 < counts["semantic_duplicates"].num_rejected < 200
    taken = counts["mix"].counted
    plain, odd, wiki = (taken[f"bytes of {name}"] for name in ("web/plain", "web/odd", "wiki"))
    assert (plain + odd) / (plain + odd + wiki) == pytest.approx(0.75, abs=0.05)
    assert plain / odd == pytest.approx(2, rel=0.2)
    rows = [json.loads(line) for line in (files / "one.jsonl").read_text().splitlines()]
    assert len(rows) == counts["mix"].num_documents > 0
    assert all(row["perplexity"] >= 1 for row in rows)
    assert not any(rule == "error" for each in done.counts for rule in each.rejected)


def test_what_is_kept_depends_neither_on_memory_nor_on_kills(files, monkeypatch):
    """Every other task of the rounds is killed, before it or when it is done."""
    run("one.jsonl", 0.08, 1)
    run("small.jsonl", 0.08, 2, max_memory_mb=1)
    call, calls = tasks.FolderTask.__call__, [0]

    def dying(self, item):
        calls[0] += 1
        if calls[0] % 4 == 1:
            raise KeyboardInterrupt
        report = call(self, item)
        if calls[0] % 4 == 0:
            raise KeyboardInterrupt
        return report

    monkeypatch.setattr(tasks.FolderTask, "__call__", dying)
    monkeypatch.setattr(rounds, "MIN_BYTES", 1)
    monkeypatch.setattr(rounds, "PROCESS_BYTES", 0)
    num_kills = 0
    while True:
        try:
            run("killed.jsonl", 0.08, 1, max_memory_mb=0.5)
            break
        except KeyboardInterrupt:
            num_kills += 1
    assert num_kills > 20
    for name in ("small", "killed"):
        assert (files / "one.jsonl").read_bytes() == (files / f"{name}.jsonl").read_bytes()
        ledgers = (files / f"ledger.{each}.jsonl.parquet" for each in ("one", name))
        one, other = map(pyarrow.parquet.read_table, ledgers)
        assert one.equals(other)
    assert not list(files.glob(".*"))


@pytest.mark.slow
def test_work_in_an_object_store_is_resumed(files, object_store, monkeypatch):
    """All steps of a pipeline read the work of earlier tasks from the store; a run dies amid it."""
    run("local.jsonl", 0.08, 1, 2)
    work_dir = object_store.uri("work")
    real, calls = stages.run_pass, []

    def dying(config, shard, folder):
        calls.append(config.number)
        if config.number == 2 and calls.count(2) == 2:
            raise KeyboardInterrupt
        return real(config, shard, folder)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(stages, "run_pass", dying)
        run("remote.jsonl", 0.08, 1, 2, work_dir)
    assert not Path("remote.jsonl").exists()
    assert any("/round" in key or "/decided" in key for key in object_store.contents("work/"))
    done = run("remote.jsonl", 0.08, 1, 2, work_dir)
    assert done.num_resumed > 2
    assert Path("remote.jsonl").read_bytes() == Path("local.jsonl").read_bytes()
    assert not any(object_store.contents("work/").values())  # folders' markers at most
