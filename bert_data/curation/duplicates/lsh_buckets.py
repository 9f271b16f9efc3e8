"""Find the documents to compare: those of a bucket, which share the key of a band.

    keys          (key 5, document 1) (key 5, document 3) (key 7, document 0)
    find_buckets  document 1 is in the bucket (1, 3), and so is document 3     ─▶ requests
    send_sets     the shard of document 1 sends its shingles to that bucket
    compare       shingles of a bucket, best document first                    ─▶ edges, values

A bucket is known by its first document and a hash of all: if several bands share the same bucket,
it is compared once.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.lsh_clusters import (
    EDGES,
    NUM_REPRESENTATIVES,
    Bucket,
    BucketDocuments,
    Compared,
    add_edges,
    compare_buckets,
)
from bert_data.curation.duplicates.minhash import (
    make_band_keys,
    make_unit_keys,
    make_unit_shingles,
    permutations,
)
from bert_data.curation.duplicates.ranks import (
    DOCUMENTS,
    RANK,
    VALUES,
    find_twins,
    read_ranks,
    rows_without,
)
from bert_data.curation.words import Words
from bert_data.work.array_files import ArrayFile, ArrayWriter
from bert_data.work.ranges import RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout, Ragged, SortedRecords, cut_rows, join_pieces

_KEYS = "keys"  # array of a shard: uint64 [bands, documents]

BAND_KEYS = Layout(("key", "document"), num_keys=2)
REQUESTS = Layout(("document", "bucket", "members", "size"), num_keys=4)
"""A document, and a bucket that needs its shingles."""

SHINGLES = Layout(
    ("bucket", "members", *RANK, "piece", "size", "bucket_size"), num_keys=6, width=24
)

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_VALUES_AT_A_TIME = 1 << 18


class SetWriter:
    """Lets a writer write the shingles of a shard's documents, and the keys of their bands."""

    def __init__(self, writer: ArrayWriter, num_bands: int, rows_per_band: int) -> None:
        self._writer, self._num_bands = writer, num_bands
        self._permutations = permutations(num_bands * rows_per_band)
        self._signature = np.empty(num_bands * rows_per_band, np.uint32)
        self._keys = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        by_band = np.frombuffer(self._keys, np.uint64).reshape(-1, self._num_bands).T
        self._writer.arrays[_KEYS] = by_band

    def add(self, shingles: NDArray[np.uint64]) -> None:
        """Add the next document's shingles, sorted, each once."""
        keys = np.empty(self._num_bands, np.uint64)
        make_band_keys(shingles, *self._permutations, self._signature, keys)
        self._writer.append(shingles)
        self._keys += keys.data

    def add_units(
        self, words: Words, spans: NDArray[np.int64], ngram_size: int
    ) -> list[NDArray[np.uint64]]:
        """Add units of a document, int64 [units, 2] in words, and return the shingles of each."""
        shingles, ends = np.empty(len(words), np.uint64), np.empty(len(spans), np.int64)
        make_unit_shingles(words.hashes, words.is_symbol, spans, ngram_size, shingles, ends)
        for start, end in itertools.pairwise([0, *ends.tolist()]):
            shingles[start:end].sort()
        keys = np.empty((len(spans), self._num_bands), np.uint64)
        make_unit_keys(shingles, ends, self._permutations, self._signature, keys)
        rows = [shingles[start:end] for start, end in itertools.pairwise([0, *ends.tolist()])]
        for row in rows:
            self._writer.append(row)
        self._keys += keys.data
        return rows


def join_twins(reader: RangeReader, writers: Writers) -> None:
    """Join documents with equal shingles, by their digests, to the best one."""
    for batch in reader.batches(2):
        add_edges(writers["edges"], *find_twins(batch, writers))
        has_twins = (batch.places == 0) & (batch.sizes > 1)
        values = np.ones(int(has_twins.sum()))
        writers["values"].add(
            document=batch.records["document"][has_twins], if_rejected=values, if_kept=0 * values
        )


def write_keys(part: Part, own: Own, writers: Writers) -> None:
    """Write the keys of a shard's documents, but not of twins and documents without shingles."""
    rows = rows_without(part, own["twins"])
    rows = rows[set_sizes(part)[rows] > 0]
    documents = rows.astype(np.uint64) + np.uint64(part.first)
    all_keys = ArrayFile(part.path)[_KEYS]
    salts = np.arange(len(all_keys), dtype=np.uint64) * _MULTIPLIER  # a key is of one band
    for keys, salt in zip(all_keys, salts, strict=True):
        writers["keys"].add(key=keys[rows] + salt, document=documents)


def set_sizes(part: Part) -> NDArray[np.int64]:
    """Return int64 [documents]: the number of shingles of a shard's documents."""
    return ArrayFile(part.path).row_lengths()


def find_buckets(reader: RangeReader, writers: Writers) -> None:
    """Request the shingles of documents that share a key with others."""
    for batch in reader.batches(1, _hash_members):
        is_shared = batch.sizes > 1
        writers["requests"].add(
            document=batch.records["document"][is_shared],
            bucket=batch.firsts("document")[is_shared],
            members=batch.totals[is_shared],
            size=batch.sizes[is_shared],
        )


def _hash_members(records: np.ndarray) -> NDArray[np.uint64]:
    mixed = records["document"] * _MULTIPLIER
    mixed ^= mixed >> _HALF
    return mixed * _MULTIPLIER


def send_sets(levels: Mapping[str, int], part: Part, own: Own, writers: Writers) -> None:
    """Send the shingles of a shard's documents to the buckets that request them."""
    requests = own["requests"].records()
    is_new = np.append(True, requests[1:] != requests[:-1])[: len(requests)]
    requests = requests[is_new]
    sets, ranks = ArrayFile(part.path).rows(), read_ranks(part, levels)
    rows = (requests["document"] - np.uint64(part.first)).astype(np.int64)
    num_values = np.cumsum(sets.lengths()[rows])
    starts = np.flatnonzero(np.diff(num_values // _VALUES_AT_A_TIME, prepend=-1))
    for start, end in zip(starts, np.append(starts, len(rows))[1:], strict=True):
        cut = cut_rows(sets, rows[start:end], SHINGLES.width)
        of_piece = requests[start:end][cut.rows]
        writers["sets"].add(
            bucket=of_piece["bucket"],
            members=of_piece["members"],
            bucket_size=of_piece["size"],
            piece=cut.pieces,
            size=cut.sizes,
            values=cut.values,
            **{name: ranks[name][rows[start:end]][cut.rows] for name in RANK},
        )


def compare_sets(threshold: float, reader: RangeReader, writers: Writers) -> dict[str, int]:
    """Compare the documents of all buckets of a range; write edges and values."""
    num_compared = num_crowded = 0
    size = NUM_REPRESENTATIVES
    bucket = Bucket(np.empty(size, np.int64), np.empty(size, np.int64))
    kept_sets = Ragged(np.empty(0, np.uint64), np.zeros(1, np.int64))
    kept = np.empty(0, SHINGLES.dtype)  # a record of each representative
    for pieces in whole_documents(reader):
        added_sets, firsts = join_pieces(pieces, np.uint64)
        records, sets = np.concatenate([kept, pieces[firsts]]), _join(kept_sets, added_sets)
        keys = records[["bucket", "members"]]
        begins = np.append(not len(kept), keys[1:] != keys[:-1])
        documents = BucketDocuments(
            sets.values, sets.offsets, begins, records["bucket_size"].astype(np.int64)
        )
        out = Compared(
            np.empty((2 * len(records), 2), np.int64), np.zeros((len(records), 2), np.float64)
        )
        compared, crowded, num_pairs, num_kept = compare_buckets(
            documents, threshold, len(kept), bucket, out
        )
        num_compared, num_crowded = num_compared + compared, num_crowded + crowded
        numbers = records["document"]
        add_edges(writers["edges"], *numbers[out.pairs[:num_pairs]].T)
        measured = np.flatnonzero(out.similarities[:, 0])
        any_one, better = out.similarities[measured].T
        writers["values"].add(document=numbers[measured], if_rejected=any_one, if_kept=better)
        members = bucket.members[:num_kept]
        kept, kept_sets = records[members], _take(sets, members)
        bucket.members[:num_kept] = np.arange(num_kept)
    return {"compared": num_compared, "crowded": num_crowded}


def whole_documents(reader: RangeReader) -> Iterator[np.ndarray]:
    """Yield the records of a range in portions that begin and end with whole documents."""
    waiting = np.empty(0, SHINGLES.dtype)
    for words in reader.portions():
        records = np.concatenate([waiting, reader.layout.named(words)])
        last = int(np.flatnonzero(records["piece"] == 0)[-1])  # its other pieces may follow
        if last:
            yield records[:last]
        waiting = records[last:]
    if len(waiting):
        yield waiting


def _join(one: Ragged, other: Ragged) -> Ragged:
    return Ragged(
        np.concatenate([one.values, other.values]),
        np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]]),
    )


def _take(rows: Ragged, numbers: NDArray[np.int64]) -> Ragged:
    offsets = np.concatenate([[0], np.cumsum(rows.lengths()[numbers])]).astype(np.int64)
    values = [rows.row(number) for number in numbers.tolist()]
    return Ragged(np.concatenate([*values, np.empty(0, np.uint64)]), offsets)


def compare_documents(
    rounds: Rounds, equal: SortedRecords, levels: Mapping[str, int], threshold: float
) -> tuple[SortedRecords, SortedRecords]:
    """Compare the documents that share a bucket; the rounds count `compared` and `crowded`.

    Args:
      equal: digests of the shingles of documents with shingles.
      threshold: documents with a greater similarity are joined.

    Returns:
      The edges between joined documents, and the values in the layout of `VALUES`.
    """
    outputs = {"edges": EDGES, "values": VALUES}
    twins = rounds.over_ranges("twins", join_twins, equal, {**outputs, "twins": DOCUMENTS})
    keys = rounds.over_parts("keys", write_keys, {"keys": BAND_KEYS}, {"twins": twins["twins"]})
    requests = rounds.over_ranges("buckets", find_buckets, keys["keys"], {"requests": REQUESTS})
    sets = rounds.over_parts(
        "sets", functools.partial(send_sets, levels), {"sets": SHINGLES}, requests
    )
    compared = rounds.over_ranges(
        "compare", functools.partial(compare_sets, threshold), sets["sets"], outputs
    )
    edges, values = (
        SortedRecords(layout, (*twins[name].files, *compared[name].files))
        for name, layout in outputs.items()
    )
    return edges, values
