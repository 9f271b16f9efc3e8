"""The decision on each document, on disk: a value, and for a duplicate the document that is kept.

value 0.0 0.91 0.0 | 1.0      number of the kept document   . 0 . | 2
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.duplicates.rosters import Roster, id_of, merge_ids, open_ids
from bert_data.curation.verdict import Measured, Verdict
from bert_data.storage import load_array, save_array

DUPLICATE_OF = "duplicate_of"
"""Name of the measure that holds the id of the document that is kept instead."""

_NONE = -1


def leave_decisions(
    folder: Path,
    roster: Roster,
    paths: Sequence[Path],
    kept: NDArray[np.int64],
    values: NDArray[np.float64],
) -> None:
    """Write the decisions that `judge_duplicates` reads.

    Args:
      folder: of the step.
      roster: of all documents.
      paths: of the rosters of all shards.
      kept: int64 [documents], by rank: the rank of the document that is kept instead, or its own.
      values: float64 [documents], by rank: the measured values.
    """
    by_number = np.empty(len(roster))
    by_number[roster.order] = values
    numbers = np.full(len(roster), _NONE, np.int64)
    rejected = np.flatnonzero(kept != np.arange(len(roster)))
    numbers[roster.order[rejected]] = roster.order[kept[rejected]]
    save_array(folder / "values.npy", by_number)
    save_array(folder / "kept.npy", numbers)
    save_array(folder / "first.npy", roster.first)
    merge_ids(paths, folder)


def judge_duplicates(
    folder: Path, shard: int, documents: Iterable[Document], rule: str, threshold: float
) -> Iterator[Verdict]:
    """Reject the documents of a shard for which another one is kept.

    Args:
      folder: of the step, with its decisions.
      shard: number of the shard.
      documents: of the shard.
      rule: the rule that rejects them.
      threshold: of the rule; `leave_decisions` has already applied it.
    """
    decisions = _read_decisions(folder, shard)
    for document, (value, kept) in zip(documents, decisions, strict=True):
        measured = [Measured(rule, value, threshold, failed=kept is not None)]
        if kept is not None:
            measured.append(Measured(DUPLICATE_OF, kept, ""))
        yield Verdict(document, tuple(measured))


def _read_decisions(folder: Path, shard: int) -> Iterator[tuple[float, str | None]]:
    """Yield, for each document of a shard, its value and the id of the document kept instead."""
    first = load_array(folder / "first.npy")
    rows = slice(int(first[shard]), int(first[shard + 1]))
    values = load_array(folder / "values.npy")[rows].tolist()
    kept = load_array(folder / "kept.npy")[rows].tolist()
    ids = open_ids(folder)
    for value, number in zip(values, kept, strict=True):
        yield value, None if number == _NONE else id_of(ids, number)
