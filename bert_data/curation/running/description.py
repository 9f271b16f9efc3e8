"""Everything that the result of a run depends on: files, steps, settings, the program.

describe_work(pipeline, shards, "corpus")  ->  {"version": ..., "steps": [...], "files": [...]}

Its fingerprint names the folder of the run's unfinished work.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import bert_data
from bert_data.curation.running.data_sets import TextShard
from bert_data.curation.running.pipeline import Pipeline, describe_step
from bert_data.storage import escape, exists, glob, is_file, is_remote, read_bytes, read_status


def describe_work(pipeline: Pipeline, shards: Sequence[TextShard], name: str) -> dict[str, Any]:
    """Return everything that decides what the tasks of a run write."""
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
        "notes": [pipeline.with_examples, pipeline.output.rejected_file is not None],
        "counted": [pipeline.count_words, pipeline.vocab_file, pipeline.do_lower_case],
        "data_sets": [repr(data_set) for data_set in pipeline.data_sets],
        "steps": steps,
        "shards": [[[span.path, span.start, span.end] for span in shard.spans] for shard in shards],
        "files": [_identity(path) for path in paths],
        "lists": [_identity(path) for path in lists],
    }


def _identity(path: str) -> list[Any]:
    status = read_status(path)
    numbers = [status.num_bytes, status.modified_ns, status.inode] if status else []
    return [os.path.abspath(path), *numbers]


def _files_named(value: Any) -> Iterator[str]:
    """Yield the files whose names occur in parameters: lists, models."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _files_named(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _files_named(each)
    elif isinstance(value, str | os.PathLike) and value and "\0" not in str(value):
        for name in [str(value), *str(value).split(",")]:
            with contextlib.suppress(OSError):
                if not is_remote(name):
                    yield from filter(is_file, [name] if exists(name) else glob(name))


def _digest_of_program() -> str:
    """Return a digest of the code, as other code cannot resume its unfinished work."""
    package = escape(os.path.dirname(bert_data.__file__))
    digest = hashlib.sha256()
    for part in ("curation/*.py", "curation/*/*.py", "text/*.py"):
        for path in glob(f"{package}/{part}"):
            digest.update(read_bytes(path))
    return digest.hexdigest()
