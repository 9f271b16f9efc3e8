"""Find the documents to compare: those of a bucket, which share the key of a band.

    keys of a band, by rank   7 5 9 5 7 7      ->  members 1 3 | 0 4 5, bounds 0 2 5

Reads what `NearDuplicates.observe` wrote, one band at a time: about 50 bytes per document.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.lsh_clusters import Sets
from bert_data.curation.duplicates.ragged_files import open_ragged
from bert_data.curation.duplicates.rosters import Roster, groups_of_equals
from bert_data.curation.duplicates.sorted_runs import runs_of_equals
from bert_data.kernels import kernel
from bert_data.storage import load_array, load_values, open_scratch


def observed_sizes(roster: Roster, paths: Sequence[Path]) -> NDArray[np.int64]:
    """Return int64 [documents], by rank: the number of shingles of each."""
    sizes = [np.diff(load_array(path / "sets" / "offsets.npy")) for path in paths]
    return np.concatenate(sizes)[roster.order]


def find_twins(
    roster: Roster, paths: Sequence[Path], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, by rank, the best document with the same shingles (by a 128-bit hash).

    A document without shingles is its own twin.
    """
    twins = np.arange(len(roster))
    for ranks in groups_of_equals(paths, roster):
        if sizes[ranks[0]]:
            twins[ranks] = ranks[0]
    return twins


@kernel
def copy_runs(
    values: NDArray[np.int64],
    places: NDArray[np.int64],
    runs: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Copy runs, int64[runs, 2], of values in the order of positions, one after the other."""
    size = 0
    for run in range(len(runs)):
        for k in range(runs[run, 0], runs[run, 1]):
            out[size] = values[places[k]]
            size += 1


def find_buckets(
    roster: Roster, paths: Sequence[Path], band: int, ranks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the buckets of a band with several members: `members` and `bounds` for the kernel.

    Args:
      roster: of all documents.
      paths: folders of all shards.
      band: its number.
      ranks: int64 [any], increasing: the documents to compare.
    """
    keys = np.concatenate([load_array(path / "keys.npy")[band] for path in paths])
    keys = keys[roster.order[ranks]]
    places = np.argsort(keys, kind="stable")
    runs = runs_of_equals(keys[places])
    bounds = np.concatenate([[0], np.cumsum(runs[:, 1] - runs[:, 0])]).astype(np.int64)
    members = np.empty(bounds[-1], np.int64)
    copy_runs(ranks, places, runs, members)
    return members, bounds


def gather_sets(
    roster: Roster, paths: Sequence[Path], needed: NDArray[np.bool_], path: Path
) -> Sets:
    """Write the shingles of the required documents, by rank, to a file, and map it."""
    ranks = roster.ranks()
    starts, ends = np.zeros(len(roster), np.int64), np.zeros(len(roster), np.int64)
    size = 0
    with open_scratch(path) as file:
        for shard, each in enumerate(paths):
            sets = open_ragged(each / "sets", np.uint64)
            rank = ranks[roster.first[shard] : roster.first[shard + 1]]
            for row in np.flatnonzero(needed[rank]).tolist():
                shingles = sets.row(row)
                file.write(shingles.data)
                starts[rank[row]], ends[rank[row]] = size, size + len(shingles)
                size += len(shingles)
    return Sets(load_values(path, np.uint64), starts, ends)
