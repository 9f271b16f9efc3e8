"""The first step of training: words are counted as a model's rules split them.

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
from bert_data.text.documents import Span
from bert_data.text.formats import find_plain_format, read_documents
from bert_data.text.input_warnings import noting_text
from bert_data.text.lines import read_texts
from bert_data.text.partitions import count_rows, plan_shards
from bert_data.text.text_config import TextConfig
from bert_data.tokens.chunks import TEXT_END, count_chunks
from bert_data.tokens.corpus_warnings import warn_of_empty, warn_of_text
from bert_data.tokens.splitting import (
    MAX_WORD_CHARACTERS,
    chunk_texts,
    count_for_wordpiece,
    count_with_spaces,
    cut_long_words,
)
from bert_data.tokens.vocabulary_config import WORDPIECE, VocabularyTrainingConfig
from bert_data.work import fingerprint, open_work
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import (
    Layout,
    Ragged,
    RecordWriter,
    SortedRecords,
    cut_rows,
    join_pieces,
)

TASK_BYTES = 1_000_000_000  # of memory
PART_BYTES, _MOST_PARTS = 64_000_000, 4096  # of text on disk; of more parts, each is larger
MAX_BYTES = 1 << 26  # of text that a task holds
_EACH, _CONTINUING, _FILE = "character ", "continuing ", "file "
_WIDTH = 2  # 16 bytes of a word are a record
_DIGEST_BYTES = 16
_WORDS_AT_A_TIME = 1 << 16
_MOST = np.uint64(2**64 - 1)

COUNTED = Layout(("high", "low", "piece", "size", "count"), num_keys=3, width=_WIDTH)
"""A piece of a word, and how often the word occurs in a part of the text."""

ADDED = Layout(("rank", "high", "low", "piece", "size"), num_keys=4, width=_WIDTH)
"""A piece of a word; its rank is 2^64 - 1 less how often it occurs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextCounts:
    """The contents of a text.

    Attributes:
      words: how often each word occurs, normalized; the most frequent ones, if there are too many.
      num_words: different words in the text.
      characters: how often each character occurs in all words, without spaces; for models other
        than WORDPIECE at least so often, in the text as it is.
      continuing: the characters that occur after the first one of a word; only for WORDPIECE.
    """

    words: Mapping[str, int]
    num_words: int
    characters: Mapping[str, int]
    continuing: frozenset[str]
    num_lines: int
    num_skipped: int


@dataclasses.dataclass(frozen=True)
class _CountedPart(Part):
    spans: Sequence[Span] = ()


def _read_texts(
    spans: Sequence[Span], text: TextConfig, skipped: list[str], with_text: set[str]
) -> Iterator[Sequence[str]]:
    """Yield the lines of a text, or its texts in formats with rows, some at a time.

    Args:
      skipped: gets a reason for each row without a text.
      with_text: gets the files that have text in them.
    """
    in_lines = find_plain_format([span.path for span in spans], text).read_lines
    if in_lines is not None:
        for lines in read_texts(noting_text(in_lines(spans, text), with_text), spans, text):
            skipped += lines.block.skipped
            yield lines.texts
        return
    for documents in noting_text(read_documents(spans, text), with_text):
        skipped += documents.skipped
        texts = (document.text for document in documents.documents)
        yield [line for each in texts for line in ([each] if isinstance(each, str) else each)]


def count_words(config: VocabularyTrainingConfig) -> TextCounts:
    """Count the words of a text by tasks, which write to the configuration's `work_dir`."""
    paths, text = config.input_files, config.text
    statuses = read_statuses(paths)
    num_bytes = sum(status.num_bytes for status in statuses if status is not None)
    size = max(PART_BYTES, num_bytes // _MOST_PARTS)
    text_format = find_plain_format(paths, text)
    shards = plan_shards(paths, text_format, size)
    warn_of_text(paths, text, are_sentences=False)
    inputs = [[os.path.abspath(p), repr(status)] for p, status in zip(paths, statuses, strict=True)]
    settings = [bert_data.__version__, text.settings(), config.model, config.do_lower_case]
    with open_work(
        config.work_dir,
        fingerprint([settings, inputs]),
        is_own=True,
        keeps_inputs=False,
        num_workers=config.num_workers,
        engine=config.engine,
        task_bytes=TASK_BYTES,
    ) as (folder, executor):
        parts = [
            _CountedPart("", "", number, number + 1, size, spans)
            for number, spans in enumerate(count_rows(shards, text_format, executor))
        ]
        rounds = Rounds(os.path.join(folder, "words"), parts, TASK_BYTES, executor)
        count = functools.partial(_count_part, text, config.model, config.do_lower_case)
        counted = rounds.over_parts("count", count, {"words": COUNTED})["words"]
        added = rounds.over_ranges("add-up", add_up, counted, {"added": ADDED})["added"]
        words = read_most_frequent(added, config.max_words, rounds.portion_bytes)
    figures = rounds.counted
    characters = {name[len(_EACH) :]: n for name, n in figures.items() if name[:-1] == _EACH}
    if not characters:
        raise ValueError(f"no words in {', '.join(paths[:3])}: there is nothing to train on")
    warn_of_empty(paths, {name.removeprefix(_FILE) for name in figures if name.startswith(_FILE)})
    _warn_of_words(figures, words, config.max_words)
    return TextCounts(
        words=words,
        num_words=figures["different words"],
        characters=characters,
        continuing=frozenset(name[-1] for name in figures if name[:-1] == _CONTINUING),
        num_lines=figures["lines"],
        num_skipped=figures["skipped"],
    )


def _warn_of_words(figures: Mapping[str, int], words: Mapping[str, int], max_words: int) -> None:
    if num_cut := figures.get("words that were cut", 0):
        logging.warning(
            "words of more than %s characters were cut, first at the ends of sentences: %s",
            MAX_WORD_CHARACTERS, f"{num_cut:,}",
        )  # fmt: skip
    if figures["different words"] > max_words:
        logging.warning(
            "the text has %s different words; the %s most frequent ones count, which occur %s times"
            " or more",
            f"{figures['different words']:,}", f"{max_words:,}", f"{min(words.values()):,}",
        )  # fmt: skip


def _count_part(
    text: TextConfig, model: str, do_lower_case: bool, part: Part, own: Own, writers: Writers
) -> dict[str, int]:
    """Write the words of a part of a text; return what else is in it."""
    assert isinstance(part, _CountedPart)
    write = functools.partial(_write_words_of, model, do_lower_case, writers["words"])
    figures = collections.Counter[str]()
    skipped, with_text = list[str](), set[str]()
    data, num_bytes = list[bytes](), 0
    for texts in _read_texts(part.spans, text, skipped, with_text):
        figures["lines"] += len(texts)
        data.append(TEXT_END.join([*map(str.encode, texts), b""]))
        num_bytes += len(data[-1])
        if num_bytes > MAX_BYTES:
            figures.update(write(b"".join(data)))
            data, num_bytes = [], 0
    figures.update(write(b"".join(data)))
    figures["skipped"] = len(skipped)
    figures.update(_FILE + path for path in with_text)
    return figures


def _write_words_of(
    model: str, do_lower_case: bool, writer: RecordWriter, data: bytes
) -> collections.Counter[str]:
    """Write the words of texts with TEXT_END behind each; return the counts of characters."""
    figures = collections.Counter[str]()
    for chunks in count_chunks(data, drops_spaces=model == WORDPIECE):
        if model == WORDPIECE:
            words = count_for_wordpiece(data, chunks, do_lower_case=do_lower_case)
        else:
            texts = chunk_texts(data, chunks)
            words = count_with_spaces(texts, model, do_lower_case=do_lower_case)
            characters = set[str]().union(*texts)
            figures.update(_EACH + each for each in characters if not each.isspace())
        figures["words that were cut"] += cut_long_words(words)
        if model == WORDPIECE:
            figures.update(_count_characters(words))
        write_words(words, writer)
    return figures


def _count_characters(words: Mapping[str, int]) -> dict[str, int]:
    """Return how often each character occurs in words, and after their first."""
    if not words:
        return {}
    text = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    sizes = np.fromiter(map(len, words), np.int64, len(words))
    counts = np.fromiter(words.values(), np.float64, len(words))  # exact up to 2^53
    each = np.bincount(text, np.repeat(counts, sizes))
    others = np.bincount(np.delete(text, np.cumsum(sizes) - sizes))
    figures = {_EACH + chr(code): int(each[code]) for code in np.flatnonzero(each)}
    return figures | {_CONTINUING + chr(code): 1 for code in np.flatnonzero(others)}


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
    """Write each word of a range once, with its count over all parts; return how many there are."""
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


def read_most_frequent(added: SortedRecords, max_words: int, max_bytes: int) -> dict[str, int]:
    """Return how often each of the most frequent words occurs, from records of `ADDED`."""
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
