"""Digests of documents, and the documents of all shards that share one.

of a shard    write_digests(path, digest_of(b"one") + digest_of(b"two"))
of all        groups_of_equals(paths, roster)  ->  ranks [0 3], [1 2 7], best first
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from bert_data.curation.duplicates.rosters import Roster
from bert_data.curation.duplicates.sorted_runs import runs_of_equals
from bert_data.storage import load_array, save_array

_DIGESTS = "digests.npy"


def digest_of(data: bytes | memoryview) -> bytes:
    """Return a 128-bit digest (XXH3)."""
    return xxhash.xxh3_128_digest(data)


def write_digests(path: Path, digests: bytes | bytearray) -> None:
    """Write the concatenated digests of a shard's documents, in their order.

    Args:
      path: folder of the shard's observations; it exists.
      digests: of each document, by `digest_of`.
    """
    save_array(path / _DIGESTS, np.frombuffer(digests, np.uint64).reshape(-1, 2))


def groups_of_equals(paths: Sequence[Path], roster: Roster) -> Iterator[NDArray[np.int64]]:
    """Yield each group of two or more documents that share a digest.

    Takes about 50 bytes of memory per document.

    Args:
      paths: folders of all shards.
      roster: of all documents.

    Yields:
      int64 [two or more], ranks of documents, increasing.
    """
    digests = np.concatenate([load_array(path / _DIGESTS) for path in paths])[roster.order]
    ranks = np.lexsort((digests[:, 0], digests[:, 1]))  # stable, so equal digests keep their order
    ordered = digests[ranks]
    for begin, end in runs_of_equals(ordered[:, 0], ordered[:, 1]).tolist():
        yield ranks[begin:end]
