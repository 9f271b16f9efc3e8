"""Text tokenized by the nodes of a cluster, for a run with one stream of random numbers.

    a.txt --plan_shards--> [a 0:64M] [a 64M:]
    each  --task on a node--> a store in a folder of the work folder
    all   --join_spans--> the store that fill_store makes of the whole text

The work folder is `.train.tokens` beside the set. It stays until the set is complete, so that a run
that was killed resumes with the missing stores.
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import bert_data
from bert_data.datasets.config import DatasetConfig, sum_up
from bert_data.datasets.corpus import Corpus
from bert_data.progress import progress
from bert_data.storage import expand_outputs, hidden_path, read_statuses
from bert_data.text.documents import TextConfig, TextPart
from bert_data.text.formats import find_plain_format
from bert_data.text.partitions import count_rows, plan_shards
from bert_data.tokens.filling import TokenCounts, fill_store, numbers_rows
from bert_data.tokens.merging import StoreSpan, join_spans
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_making import PARTITION_MB
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.work import (
    FolderTask,
    Made,
    fingerprint,
    open_executor,
    open_work_folder,
    remove_damaged,
    run_tasks,
)

_PART_BYTES = 64_000_000  # of text on disk
_STORE = "tokens"


def _fill_part(
    tokenizer: Tokenizer, text: TextConfig, part: TextPart, folder: str
) -> dict[str, Any]:
    """Tokenize a part into a folder; return its counts."""
    prefix = os.path.join(folder, _STORE)
    filled = fill_store(part.spans, tokenizer, prefix, text=text, may_be_empty=True)
    return dataclasses.asdict(filled.counts)


@contextlib.contextmanager
def tokenized_by_cluster(
    config: DatasetConfig, corpus: Corpus, prefix: str
) -> Iterator[tuple[TokenStore, TokenCounts]]:
    """Tokenize text, and join the stores of its parts; the block ends with the set complete.

    Args:
      prefix: of the store to write.

    Raises:
      ValueError, CorruptDataError: the text cannot be used.
      OSError: a file cannot be read or written, or the cluster fails.
    """
    paths, tokenizer = corpus.files.paths, corpus.tokenizer
    text_format = find_plain_format(paths, config.text)
    shards = plan_shards(paths, text_format, _PART_BYTES)
    parts = [TextPart(number, spans) for number, spans in enumerate(shards)]
    work = fingerprint(
        {
            "version": bert_data.__version__,
            "vocabulary": [tokenizer.sha256, tokenizer.do_lower_case],
            "text": config.text.settings(),
            "inputs": [
                [os.path.abspath(path), repr(status)]
                for path, status in zip(paths, read_statuses(paths), strict=True)
            ],
            "parts": [repr(part) for part in parts],
        }
    )
    beside = hidden_path(expand_outputs(config.output_file).name, "tokens")
    parent = config.work_dir or beside
    with open_work_folder(parent, work, is_own=not config.work_dir) as folder:
        task = FolderTask(
            parent=os.path.join(folder, "parts"),
            function=functools.partial(_fill_part, tokenizer, config.text),
        )
        done = []
        with open_executor(
            config.engine.count_workers(config.num_workers),
            engine=config.engine,
            folder=folder,
            task_bytes=PARTITION_MB * 1_000_000,
        ) as executor:
            remove_damaged(folder, executor, keeps_inputs=True)
            if numbers_rows(text_format, tokenizer):
                spans = count_rows(shards, text_format, executor)
                parts = [TextPart(*each) for each in enumerate(spans)]
            with progress("tokenize", total=len(parts), unit="part") as advance:
                for made, _ in run_tasks("tokenize", task, parts, executor):
                    done.append(made)
                    advance(1)
        yield _join(done, prefix)


def _join(parts: Sequence[Made], prefix: str) -> tuple[TokenStore, TokenCounts]:
    total = sum_up(TokenCounts, [part.report for part in parts])
    if not total.num_tokens:
        raise ValueError("no sentence in the text")
    spans = [
        StoreSpan(prefix=os.path.join(part.folder, _STORE))
        for part in parts
        if part.report["num_tokens"]
    ]
    join_spans(spans, prefix)
    return open_store(prefix), total
