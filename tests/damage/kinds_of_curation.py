"""Curation's ledger, and the folder in which a run keeps its unfinished work."""

from pathlib import Path
from typing import Any

from bert_data.curation.running.pipeline import DataSet, Pipeline, label_steps
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import steps_by_name
from bert_data.inspection.sources.texts import LedgerSource
from tests.damage.lab import Kind
from tests.damage.materials import json_lines

_FOOTER = "the footer of a Parquet file has no checksum"


class _StoppedError(Exception):
    """Ends a run before it is committed."""


def _run(folder: Path, steps: list[Any], *, is_stopped: bool) -> None:
    def stop(_: object) -> str:
        raise _StoppedError

    pipeline = Pipeline(
        data_sets=(DataSet(name="web", files=f"{folder}/web.jsonl"),),
        steps=label_steps(steps),
        output=Output(files=f"{folder}/o.jsonl"),
        shard_mb=0.001,
        ledger="all",
    )
    more = {f"{folder}/report": stop} if is_stopped else {}
    try:
        run_pipeline(pipeline, num_workers=1, more_outputs=more)
    except _StoppedError:
        assert is_stopped


def _steps() -> list[Any]:
    known = steps_by_name()
    return [known["length"](min_words=10), known["exact_duplicates"](), known["repair"]()]


def _make_ledger(folder: Path, variant: int) -> None:
    (folder / "web.jsonl").write_bytes(json_lines(variant))
    _run(folder, _steps(), is_stopped=False)


def _read(folder: Path) -> Any:
    source = LedgerSource([f"{folder}/ledger.o.jsonl.parquet"])
    return [repr(item.fields) for item in source.stream()]


def _make_unfinished(folder: Path, variant: int) -> None:
    """In the place where the run will go on: its work belongs to its paths."""
    live = folder.parent / "files"
    live.mkdir(exist_ok=True)
    (live / "web.jsonl").write_bytes(json_lines(variant))
    _run(live, _steps(), is_stopped=True)
    folder.rmdir()
    live.rename(folder)


def _resume(folder: Path) -> Any:
    _run(folder, _steps(), is_stopped=False)
    left = [path.name for path in folder.glob(".*")]
    return [(folder / "o.jsonl").read_bytes(), left]


KINDS = (
    Kind(
        name="ledger",
        make=_make_ledger,
        damaged=["ledger.*"],
        read=_read,
        unprotected={"ledger.*": _FOOTER},
    ),
    Kind(name="work folder", make=_make_unfinished, damaged=[".*/**/*"], read=_resume),
)
