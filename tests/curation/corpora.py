"""Drives a corpus step by hand, as the pipeline does: observe, decide, judge."""

import json
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bert_data.curation.document import Document, Verdict
from bert_data.curation.running.pipeline import DataSet, Pipeline, label_steps
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.step import CorpusStep, Step, read_decisions
from bert_data.storage import remove
from bert_data.work import Executor, rounds
from bert_data.work.rounds import Part, Rounds


def make_documents(texts: Sequence[str], source: str = "crawl") -> list[Document]:
    """Documents whose ids depend on nothing but their place in the list."""
    return [Document(id=f"{source}/{i}", source=source, text=t) for i, t in enumerate(texts)]


def run_corpus_step(
    step: CorpusStep,
    shards: Sequence[Sequence[Document]],
    folder: Path,
    *,
    max_bytes: int = 10**9,
    first: int = 0,
) -> list[list[Verdict]]:
    """Runs a step over shards; the documents of a shard are all of one data set.

    Each call is made on a fresh copy of the step, as in workers; the shards are observed and
    judged from the last to the first. What was observed of a shard is removed once it is judged:
    the other ones are judged without it.
    """
    folder = Path(tempfile.mkdtemp(dir=folder))
    own = folder / "own"
    own.mkdir()
    step.prepare(own)
    paths = [folder / f"observed-{number}" for number in range(len(shards))]
    for shard, path in reversed(list(zip(shards, paths, strict=True))):
        pickle.loads(pickle.dumps(step)).observe(own, iter(shard), path)
    parts = list(make_parts(shards, paths, first))
    fresh = pickle.loads(pickle.dumps(step))
    decisions = fresh.decide(make_rounds(folder / "round", parts, max_bytes))
    verdicts: list[list[Verdict]] = [[] for _ in shards]
    for number in reversed(range(len(shards))):
        fresh = pickle.loads(pickle.dumps(step))
        judged = fresh.judge_shard(read_decisions(decisions, parts[number]), iter(shards[number]))
        verdicts[number] = list(judged)
        assert len(verdicts[number]) == len(shards[number])
        remove(paths[number])
    return verdicts


def make_rounds(
    folder: Path, parts: Sequence[Part], max_bytes: int, executor: Executor | None = None
) -> Rounds:
    """Rounds that may have less memory than a process takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "MIN_BYTES", 1)
        patch.setattr(rounds, "PROCESS_BYTES", 0)
        return Rounds(str(folder), parts, max_bytes, executor)


def make_parts(
    shards: Sequence[Sequence[Document]], paths: Sequence[Path], first: int = 0
) -> Iterator[Part]:
    """The shards as parts of rounds; `first` is the number of the first document."""
    for shard, path in zip(shards, paths, strict=True):
        source = shard[0].source if shard else "crawl"
        num_bytes = sum(len(document.text) for document in shard)
        yield Part(str(path), source, first, first + len(shard), num_bytes)
        first += len(shard)


def kept_ids(verdicts: Sequence[Sequence[Verdict]]) -> set[str]:
    return {v.document.id for shard in verdicts for v in shard if v.kept}


def value_of(verdict: Verdict, rule: str) -> float | str:
    return next(each.value for each in verdict.measured if each.rule == rule)


def pipeline_of(
    folder: Path, steps: Sequence[Step], *, names: Sequence[str] = ("a",), **options: Any
) -> Pipeline:
    """A pipeline of data sets by the names of their files, to o.jsonl or another output."""
    return Pipeline(
        data_sets=tuple(DataSet(name=name, files=f"{folder}/{name}.*") for name in names),
        steps=label_steps(steps),
        output=Output(files=f"{folder}/{options.pop('output', 'o.jsonl')}"),
        **options,
    )


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def write_texts(folder: Path, texts: Iterable[str], name: str = "a") -> None:
    """Write the rows of a.jsonl, or of another file."""
    write_rows(folder / f"{name}.jsonl", ({"text": text} for text in texts))
