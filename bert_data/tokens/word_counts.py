"""Counts the words and characters of a text, as a model's rules split it, by tasks.

a.txt  --plan_shards-->  parts  --count, each a task-->  words as records sorted by their digests
records  --add up, each range of digests a task-->  words with their counts, most frequent first
the most frequent words  -->  TextCounts(words={"the": 7, ...}, characters={"t": 9, ...})

No task's memory grows with the text, and this process holds only the words that it returns. A word
is known by a 128-bit digest (BLAKE2b), and travels with it; of words that occur equally often, the
one of the lesser digest comes first.
"""

import collections
import dataclasses
import functools
import hashlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from absl import logging
from numpy.typing import NDArray

import bert_data
from bert_data.storage import read_statuses
from bert_data.text.documents import Span, TextConfig
from bert_data.text.formats import find_plain_format, read_documents
from bert_data.text.lines import read_texts
from bert_data.text.partitions import count_rows, plan_shards
from bert_data.tokens.word_rules import WORDPIECE, chunks_of, open_rules
from bert_data.work import Engine, fingerprint, open_work
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.records import Layout, Ragged, Records, RecordWriter, cut_rows, join_pieces
from bert_data.work.rounds import Own, Part, Rounds, Writers

_TASK_BYTES = 1_000_000_000  # of memory
_PART_BYTES, _MOST_PARTS = 64_000_000, 4096  # of text on disk; of more parts, each is larger
_MAX_CHUNKS, _MAX_CHARACTERS = 1_000_000, 1 << 26  # that a task has read and holds
_EACH, _CONTINUING = "character ", "continuing "


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextCounts:
    """What is in a text.

    Attributes:
      words: how often each word occurs, normalized; the most frequent ones, if there are too many.
      num_words: different words in the text.
      characters: how often each character occurs in all words, without spaces; for models other
        than WORDPIECE at least so often, in the text as it is.
      continuing: the characters that occur after the first one of a word; only for WORDPIECE.
      num_lines: of text, or texts of formats that have rows.
      num_skipped: rows without a text that were left out.
    """

    words: Mapping[str, int]
    num_words: int
    characters: Mapping[str, int]
    continuing: frozenset[str]
    num_lines: int
    num_skipped: int


@dataclasses.dataclass(frozen=True)
class _TextPart(Part):
    """A part of a text.

    Attributes:
      spans: of its files.
    """

    spans: Sequence[Span] = ()


def read_lines(
    spans: Sequence[Span], text: TextConfig, skipped: list[str] | None = None
) -> Iterator[str]:
    """Yield the lines of a text, or its texts in formats that have rows.

    Args:
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


def count_text(
    paths: Sequence[str],
    text: TextConfig,
    *,
    model: str = WORDPIECE,
    do_lower_case: bool,
    max_words: int,
    engine: Engine,
    num_workers: int,
    work_dir: str,
) -> TextCounts:
    """Count a text by tasks.

    Args:
      model: one of `MODELS`, whose words are counted.
      do_lower_case: whether it is lower-cased and, for WORDPIECE, loses its accents.
      max_words: that are returned, with some 0.2 kB of memory each.
      engine: what runs the tasks.
      num_workers: tasks at a time, >= 1; 0, on a cluster: all its cores.
      work_dir: folder of unfinished work, which all nodes of a cluster see; it is removed.

    Raises:
      ValueError, CorruptDataError: the text cannot be used.
      OSError: a file cannot be read or written, or the cluster fails.
    """
    statuses = read_statuses(paths)
    num_bytes = sum(status.num_bytes for status in statuses if status is not None)
    size = max(_PART_BYTES, num_bytes // _MOST_PARTS)
    text_format = find_plain_format(paths, text)
    shards = plan_shards(paths, text_format, size)
    inputs = [[os.path.abspath(p), repr(status)] for p, status in zip(paths, statuses, strict=True)]
    settings = [bert_data.__version__, text.settings(), model, do_lower_case]
    with (
        open_work(
            work_dir,
            fingerprint([settings, inputs]),
            is_own=True,
            keeps_inputs=False,
            num_workers=num_workers,
            engine=engine,
            task_bytes=_TASK_BYTES,
        ) as (folder, executor),
    ):
        parts = [
            _TextPart("", "", number, number + 1, size, spans)
            for number, spans in enumerate(count_rows(shards, text_format, executor))
        ]
        rounds = Rounds(os.path.join(folder, "words"), parts, _TASK_BYTES, executor)
        count = functools.partial(_count_part, text, model, do_lower_case)
        counted = rounds.over_parts("count", count, {"words": COUNTED})["words"]
        added = rounds.over_ranges("add-up", add_up, counted, {"added": ADDED})["added"]
        words = read_most_frequent(added, max_words, rounds.portion_bytes)
    figures = rounds.counted
    if figures["different words"] > max_words:
        logging.warning(
            "the text has %s different words; the %s most frequent ones count, which occur %s times"
            " or more",
            f"{figures['different words']:,}",
            f"{max_words:,}",
            f"{min(words.values()):,}",
        )
    return TextCounts(
        words=words,
        num_words=figures["different words"],
        characters={name[len(_EACH) :]: n for name, n in figures.items() if name[:-1] == _EACH},
        continuing=frozenset(name[-1] for name in figures if name[:-1] == _CONTINUING),
        num_lines=figures["lines"],
        num_skipped=figures["skipped"],
    )


def _count_part(
    text: TextConfig, model: str, do_lower_case: bool, part: Part, own: Own, writers: Writers
) -> dict[str, int]:
    """Write the words of a part of a text; return what else is in it."""
    assert isinstance(part, _TextPart)
    figures = collections.Counter[str]()
    chunks = collections.Counter[str]()
    skipped: list[str] = []
    num_characters = 0
    for line in read_lines(part.spans, text, skipped):
        chunks.update(chunks_of(line, model))
        figures["lines"] += 1
        num_characters += len(line)
        if len(chunks) > _MAX_CHUNKS or num_characters > _MAX_CHARACTERS:
            figures.update(_write_chunks(chunks, model, do_lower_case, writers))
            chunks.clear()
            num_characters = 0
    figures.update(_write_chunks(chunks, model, do_lower_case, writers))
    figures["skipped"] = len(skipped)
    return figures


def _write_chunks(
    chunks: Mapping[str, int], model: str, do_lower_case: bool, writers: Writers
) -> collections.Counter[str]:
    """Write the words of chunks; return the counts of their characters."""
    normalizer, splitter = open_rules(model, do_lower_case=do_lower_case)
    words = collections.Counter[str]()
    for chunk, count in chunks.items():
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(chunk)):
            words[word] += count
    write_words(words, writers["words"])
    figures = collections.Counter[str]()
    if model != WORDPIECE:
        characters = set[str]().union(*chunks)
        return collections.Counter(_EACH + each for each in characters if not each.isspace())
    for word, count in words.items():
        for character in word:
            figures[_EACH + character] += count
    for character in set().union(*(word[1:] for word in words)):
        figures[_CONTINUING + character] += 1
    return figures


_WIDTH = 2  # 16 bytes of a word are a record
_DIGEST_BYTES = 16
_WORDS_AT_A_TIME = 1 << 16
_MOST = np.uint64(2**64 - 1)

COUNTED = Layout(("high", "low", "piece", "size", "count"), num_keys=3, width=_WIDTH)
"""A piece of a word, and how often the word occurs in a part of the text."""

ADDED = Layout(("rank", "high", "low", "piece", "size"), num_keys=4, width=_WIDTH)
"""A piece of a word; its rank is 2^64 - 1 less how often it occurs."""


def write_words(words: Mapping[str, int], writer: RecordWriter) -> None:
    """Write words and how often each occurs as records of `COUNTED`."""
    items = iter(words.items())
    while some := list(itertools.islice(items, _WORDS_AT_A_TIME)):
        names = [word.encode(errors="surrogatepass") for word, _ in some]
        digests = b"".join(hashlib.blake2b(n, digest_size=_DIGEST_BYTES).digest() for n in names)
        high, low = np.frombuffer(digests, ">u8").reshape(-1, 2).T
        offsets = np.cumsum([0, *map(len, names)]).astype(np.int64)
        rows = Ragged(np.frombuffer(b"".join(names), np.uint8), offsets)
        cut = cut_rows(rows, np.arange(len(names)), _WIDTH)
        writer.add(
            high=high[cut.rows],
            low=low[cut.rows],
            piece=cut.pieces,
            size=cut.sizes,
            count=np.array([count for _, count in some], np.uint64)[cut.rows],
            values=cut.values,
        )


def add_up(reader: RangeReader, writers: Writers) -> dict[str, int]:
    """Write each word of a range once, with its count over all parts, to the writer `added`.

    Returns:
      The number of `different words`.
    """
    num_words, last = 0, None
    for batch in reader.batches(2, weigh=_counts_of_words):
        records = batch.records
        is_new = np.ones(len(records), bool)
        is_new[1:] = batch.groups[1:] != batch.groups[:-1]
        is_new[1:] |= records["piece"][1:] != records["piece"][:-1]
        is_new[0] = _key(records[0]) != last
        last = _key(records[-1])
        new = records[is_new]
        num_words += int((new["piece"] == 0).sum())
        fields = {name: new[name] for name in ("high", "low", "piece", "size", "values")}
        writers["added"].add(rank=_MOST - batch.totals[is_new], **fields)
    return {"different words": num_words}


def _counts_of_words(records: np.ndarray) -> NDArray[np.uint64]:
    """Return the counts of words, once for each: in the record of the first piece."""
    return np.where(records["piece"] == 0, records["count"], np.uint64(0))


def _key(record: np.void) -> tuple[int, int, int]:
    return int(record["high"]), int(record["low"]), int(record["piece"])


def read_most_frequent(added: Records, max_words: int, max_bytes: int) -> dict[str, int]:
    """Return the most frequent words, and how often each occurs.

    Args:
      added: records of `ADDED`.
      max_words: to return.
      max_bytes: of records to hold, besides the words.
    """
    words: dict[str, int] = {}
    reader = RangeReader(added, Range(), max_bytes)
    for records in _whole_words(reader):
        rows, firsts = join_pieces(records, np.uint8)
        text, bounds = rows.values.tobytes(), rows.offsets.tolist()
        counts = (_MOST - records["rank"][firsts]).tolist()
        for (begin, end), count in zip(itertools.pairwise(bounds), counts, strict=True):
            if len(words) == max_words:
                return words
            words[text[begin:end].decode(errors="surrogatepass")] = count
    return words


def _whole_words(reader: RangeReader) -> Iterator[np.ndarray]:
    """Yield all records of a reader, in portions that end with the last piece of a word."""
    waiting = np.empty(0, reader.layout.dtype)
    for portion in reader.portions():
        records = np.concatenate([waiting, reader.layout.named(portion)])
        end = np.flatnonzero(records["piece"] == 0)[-1]
        if end:
            yield records[:end]
        waiting = records[end:]
    if len(waiting):
        yield waiting
