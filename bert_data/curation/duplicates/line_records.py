"""Find the lines that occur in several documents of a corpus that does not fit into memory.

    a shard    line 77 in documents 0 and 3, line 12 in document 3    sorted by the line's hash
    all        77: crawl/0, crawl/3, wiki/9 ─▶ the best one keeps it, the others lose it
    cut        of a shard: (document 3, line 77)

Each shard's records are sorted by hash, so the records of one range of hashes can be read from all
shards, compared and released.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.rosters import Roster
from bert_data.curation.duplicates.sorted_runs import runs_of_equals
from bert_data.storage import file_size, load_values, open_scratch

RECORDS_AT_A_TIME = 1 << 22
"""About so many are looked at together: some 200 MB."""

RECORD = np.dtype([("hash", np.uint64), ("row", np.int64)])
"""A line of a document: its hash, and the document's place in the shard."""


def write_records(path: Path, hashes: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    """Write a shard's records.

    Args:
      path: to write.
      hashes: uint64 [any], the distinct lines of each document, documents in their order.
      counts: int64 [documents], number of hashes of each.
    """
    order = np.argsort(hashes, kind="stable")
    records = np.empty(len(hashes), RECORD)
    records["hash"] = hashes[order]
    records["row"] = np.repeat(np.arange(len(counts)), counts)[order]
    with open_scratch(path) as file:
        file.write(records.data)


def decide_cuts(
    paths: Sequence[Path],
    roster: Roster,
    cuts: Sequence[Path],
    *,
    max_documents: int,
    num_kept: int,
) -> int:
    """Write, for each shard, the records of lines to cut.

    Args:
      paths: of the shards' records.
      roster: of all documents.
      cuts: a file for each shard, RECORD [any].
      max_documents: lines in more documents than this are duplicates, >= 1.
      num_kept: number of documents, best first, that keep a duplicate line; >= 0.

    Returns:
      The number of distinct duplicate lines.
    """
    for cut in cuts:
        open_scratch(cut).close()
    ranks = roster.ranks()
    num_records = sum(file_size(path) // RECORD.itemsize for path in paths)
    num_ranges = num_records // RECORDS_AT_A_TIME + 1
    bounds = [(2**64 - 1) * k // num_ranges for k in range(num_ranges)] + [None]
    return sum(
        _decide_range(
            paths,
            roster.first,
            ranks,
            cuts,
            (bounds[k] or 0, bounds[k + 1]),
            max_documents=max_documents,
            num_kept=num_kept,
        )
        for k in range(num_ranges)
    )


def _decide_range(
    paths: Sequence[Path],
    first: NDArray[np.int64],
    ranks: NDArray[np.int64],
    cuts: Sequence[Path],
    hashes: tuple[int, int | None],
    *,
    max_documents: int,
    num_kept: int,
) -> int:
    """Apply `decide_cuts` to a range of hashes; the end is exclusive; None: no end."""
    parts = []
    for path in paths:
        records = load_values(path, RECORD)
        begin = np.searchsorted(records["hash"], np.uint64(hashes[0]))
        end = np.int64(len(records))
        if hashes[1] is not None:
            end = np.searchsorted(records["hash"], np.uint64(hashes[1])).astype(np.int64)
        parts.append(np.array(records[begin:end]))
    shards = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    records = np.concatenate(parts)
    order = np.lexsort((ranks[first[shards] + records["row"]], records["hash"]))
    is_cut = np.zeros(len(records), bool)
    num_lines = 0
    for begin, end in runs_of_equals(records["hash"][order]).tolist():
        if end - begin > max_documents:
            is_cut[order[begin + num_kept : end]] = True
            num_lines += 1
    for shard in np.unique(shards[is_cut]).tolist():
        with open_scratch(cuts[shard], "ab") as file:
            file.write(records[is_cut & (shards == shard)].tobytes())
    return num_lines


def read_cuts(path: Path) -> dict[int, set[int]]:
    """Return the hashes of the lines that each document of a shard loses, by its position."""
    lines: dict[int, set[int]] = {}
    for line, row in load_values(path, RECORD).tolist():
        lines.setdefault(row, set()).add(line)
    return lines
