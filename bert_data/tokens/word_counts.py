"""Counts the words and characters of a text, as BERT's basic tokenizer splits it.

a.txt  --count_words-->  TextCounts(words={"the": 7, ...}, characters={"t": 9, ...})

On a cluster, by tasks:

a.txt  --plan_shards-->  parts  --count_part, on the nodes-->  counts in the work folder
all counts  --added up-->  TextCounts(words={"the": 7, ...}, characters={"t": 9, ...})
"""

import collections
import dataclasses
import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import bert_data
from bert_data.progress import progress
from bert_data.storage import read_json, read_status, write_bytes
from bert_data.text.documents import TextConfig
from bert_data.text.formats import find_plain_format, read_documents
from bert_data.text.partitions import plan_shards
from bert_data.text.runs_of_lines import read_texts
from bert_data.text.spans import Span, TextPart
from bert_data.work import (
    Engine,
    FolderTask,
    fingerprint,
    open_executor,
    open_work_folder,
    read_report,
    run_tasks,
)

_PART_BYTES = 64_000_000  # of text on disk
_TASK_BYTES = 1_000_000_000  # of memory, for all different words of a part
_COUNTS = "counts.json"
_MAX_CHUNKS = 1_000_000  # that are held in memory


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextCounts:
    """What is in a text.

    Attributes:
      words: how often each word occurs, normalized.
      characters: how often each character occurs, without spaces.
      num_lines: of text, or texts of formats that have rows.
      num_skipped: rows without a text that were left out.
    """

    words: Mapping[str, int]
    characters: Mapping[str, int]
    num_lines: int
    num_skipped: int


def read_lines(
    spans: Sequence[Span], text: TextConfig, skipped: list[str] | None = None
) -> Iterator[str]:
    """Yield the lines of a text, or its texts in formats that have rows.

    Args:
      spans: of the files.
      text: how they are read.
      skipped: extended by the reasons why rows were skipped.
    """
    in_lines = find_plain_format([span.path for span in spans], text).read_lines
    if in_lines is not None:
        for lines in read_texts(in_lines(spans, text), spans, text):
            if skipped is not None:
                skipped += lines.block.skipped
            yield from lines.texts
        return
    for documents in read_documents(spans, text):
        if skipped is not None:
            skipped += documents.skipped
        for document in documents.documents:
            yield from [document.text] if isinstance(document.text, str) else document.text


def count_on_cluster(
    paths: Sequence[str], text: TextConfig, *, do_lower_case: bool, engine: Engine, work_dir: str
) -> TextCounts:
    """Count a text by tasks of a cluster.

    Args:
      paths: of the text.
      text: how it is read.
      do_lower_case: whether it is lower-cased and loses its accents.
      engine: the cluster.
      work_dir: folder of unfinished work, which all nodes see; it is removed.

    Raises:
      ValueError, CorruptDataError: the text cannot be used.
      OSError: a file cannot be read or written, or the cluster fails.
    """
    shards = plan_shards(paths, find_plain_format(paths, text), _PART_BYTES)
    parts = [TextPart(number, spans) for number, spans in enumerate(shards)]
    inputs = [[os.path.abspath(path), repr(read_status(path))] for path in paths]
    settings = [bert_data.__version__, text.settings(), do_lower_case]
    words, characters = collections.Counter[str](), collections.Counter[str]()
    num_lines = num_skipped = 0
    with (
        open_work_folder(work_dir, fingerprint([settings, inputs]), is_own=True) as folder,
        open_executor(
            engine.count_workers(0), engine=engine, folder=folder, task_bytes=_TASK_BYTES
        ) as executor,
        progress("words", total=len(parts), unit="part") as advance,
    ):
        function = functools.partial(_count_part, text, do_lower_case)
        task = FolderTask(parent=os.path.join(folder, "parts"), function=function)
        for path, _ in run_tasks("words", task, parts, executor):
            report, counts = read_report(path), read_json(os.path.join(path, _COUNTS))
            num_lines += report["num_lines"]
            num_skipped += report["num_skipped"]
            words.update(counts["words"])
            characters.update(counts["characters"])
            advance(1)
    return TextCounts(
        words=words, characters=characters, num_lines=num_lines, num_skipped=num_skipped
    )


def _count_part(
    text: TextConfig, do_lower_case: bool, part: TextPart, folder: str
) -> dict[str, Any]:
    """Count a part of a text, and write the counts into a folder."""
    counts = count_words(part.spans, text, do_lower_case=do_lower_case)
    content = {"words": counts.words, "characters": counts.characters}
    write_bytes(os.path.join(folder, _COUNTS), json.dumps(content).encode())
    return {"num_lines": counts.num_lines, "num_skipped": counts.num_skipped}


def count_words(
    spans: Sequence[Span],
    text: TextConfig,
    *,
    do_lower_case: bool,
    advance: Callable[[int], None] = lambda _: None,
) -> TextCounts:
    """Count a text in this process.

    Lines are cut at spaces, which no word crosses, and each different chunk is normalized once.

    Args:
      spans: of the files.
      text: how they are read.
      do_lower_case: whether it is lower-cased and loses its accents.
      advance: called with the number of lines that have been read.
    """
    chunks, words = collections.Counter[str](), collections.Counter[str]()
    skipped: list[str] = []
    num_lines = 0
    for line in read_lines(spans, text, skipped):
        chunks.update(line.split(" "))
        num_lines += 1
        advance(1)
        if len(chunks) > _MAX_CHUNKS:
            _move_words(chunks, words, do_lower_case)
    _move_words(chunks, words, do_lower_case)
    characters = collections.Counter[str]()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    return TextCounts(
        words=words, characters=characters, num_lines=num_lines, num_skipped=len(skipped)
    )


def _move_words(
    chunks: collections.Counter[str], words: collections.Counter[str], do_lower_case: bool
) -> None:
    """Count the words of chunks, and forget the chunks."""
    from tokenizers import normalizers, pre_tokenizers

    normalizer = normalizers.BertNormalizer(lowercase=do_lower_case)
    splitter = pre_tokenizers.BertPreTokenizer()
    for chunk, count in chunks.items():
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(chunk)):
            words[word] += count
    chunks.clear()
