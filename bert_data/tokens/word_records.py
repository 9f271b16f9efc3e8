"""Words and their counts as sorted records, which tasks add up.

    counted    "the" 7 | "the" 2, "oaks" 1         a sorted file for each part of a text
    added up   "the" 9, "oaks" 1                   the most frequent word first

A word is known by a 128-bit digest (BLAKE2b), and travels with it; of words that occur equally
often, the one of the lesser digest comes first.
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from bert_data.work.ranges import Range, RangeReader
from bert_data.work.records import Layout, Ragged, Records, RecordWriter, cut_rows, join_pieces
from bert_data.work.rounds import Writers

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
