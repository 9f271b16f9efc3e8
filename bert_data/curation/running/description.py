"""All that what a run makes depends on: files, steps, settings, the program.

describe_work(pipeline, shards, "corpus")  ->  {"version": ..., "steps": [...], "files": [...]}

Its fingerprint names the folder of the run's unfinished work.
"""

import contextlib
import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bert_data
from bert_data.curation.running.data_sets import Shard
from bert_data.curation.running.pipeline import Pipeline, describe_step


def describe_work(pipeline: Pipeline, shards: Sequence[Shard], name: str) -> dict[str, Any]:
    """All that decides what is in the folder of a run: files, steps, settings, the program."""
    paths = sorted({span.path for shard in shards for span in shard.spans})
    steps = [
        {"step": each.label, "parameters": describe_step(each.step)} for each in pipeline.steps
    ]
    lists = sorted(set(_files_named(steps)) | set(filter(None, [pipeline.vocab_file])))
    return {
        "version": bert_data.__version__,
        "program": _digest_of_program(),
        "output": os.path.abspath(name),
        "split_sentences": [pipeline.output.split_sentences, pipeline.output.language],
        "max_document_bytes": pipeline.max_document_bytes,
        "ledger": pipeline.ledger,
        "on_error": pipeline.on_error,
        "counted": [pipeline.count_words, pipeline.vocab_file, pipeline.do_lower_case],
        "data_sets": [repr(data_set) for data_set in pipeline.data_sets],
        "steps": steps,
        "shards": [[[span.path, span.start, span.end] for span in shard.spans] for shard in shards],
        "files": [_identity(path) for path in paths],
        "lists": [_identity(path) for path in lists],
    }


def _identity(path: str) -> list[Any]:
    status = os.stat(path)
    return [os.path.abspath(path), status.st_size, status.st_mtime_ns, status.st_ino]


def _files_named(value: Any) -> Iterator[str]:
    """The files whose names are among values: lists, models."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _files_named(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _files_named(each)
    elif isinstance(value, str | os.PathLike) and value and "\0" not in str(value):
        for name in [str(value), *str(value).split(",")]:
            with contextlib.suppress(OSError):
                found = glob.glob(name, recursive=True) if set(name) & set("*?[") else [name]
                yield from filter(os.path.isfile, found)


def _digest_of_program() -> str:
    """Of the code that makes documents: what it left unfinished is not for other code to finish."""
    package = Path(bert_data.__file__).parent
    digest = hashlib.sha256()
    for part in ("curation", "text"):
        for path in sorted((package / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
