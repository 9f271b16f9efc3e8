"""Decisions on documents of which another one is kept: a value, and the id of the one kept instead.

    values  (document 7, 0.91 if it is rejected, 0.2 if it is kept)      a record or several each
    kept    (kept 2, document 7)  ─send_ids─▶  ids  (document 7, "crawl/a.jsonl:3")

Only documents that are compared with others have records. The shard of the document that is kept
sends its id to the shard of the one that is rejected, so that judging opens only its own records.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from bert_data.curation.document import Document
from bert_data.curation.duplicates.ranks import open_ids
from bert_data.curation.step import Decisions, ShardDecisions
from bert_data.curation.verdict import Measured, Verdict
from bert_data.work.records import Layout, Records, cut_rows, join_pieces
from bert_data.work.rounds import Own, Part, Rounds, Writers

DUPLICATE_OF = "duplicate_of"
"""Name of the measure that holds the id of the document that is kept instead."""

VALUES = Layout(("document", "if_rejected", "if_kept"), num_keys=3)
"""Measured values >= 0; the largest one of a document counts."""

KEPT = Layout(("kept", "document"), num_keys=2)
"""A document that is rejected, and the one that is kept instead."""

_IDS = Layout(("document", "piece", "size"), num_keys=2, width=6)
_RECORDS_AT_A_TIME = 1 << 14


def decide_by(rounds: Rounds, values: Records, kept: Records) -> Decisions:
    """Return the decisions that `judge_duplicates` reads."""
    ids = rounds.over_parts("ids", send_ids, {"ids": _IDS}, {"kept": kept})["ids"]
    rounds.remove(kept)
    return Decisions(tables={"values": values, "ids": ids})


def send_ids(part: Part, own: Own, writers: Writers) -> None:
    """Send the ids of a shard's documents to those that are rejected for their sake."""
    ids = open_ids(part)
    for words in own["kept"].portions():
        for start in range(0, len(words), _RECORDS_AT_A_TIME):
            kept, documents = words[start : start + _RECORDS_AT_A_TIME].T
            cut = cut_rows(ids, (kept - np.uint64(part.first)).astype(np.int64), _IDS.width)
            writers["ids"].add(
                document=documents[cut.rows], piece=cut.pieces, size=cut.sizes, values=cut.values
            )


def judge_duplicates(
    decided: ShardDecisions,
    documents: Iterable[Document],
    rule: str,
    threshold: float,
    default: float,
) -> Iterator[Verdict]:
    """Reject the documents of a shard for which another one is kept.

    Args:
      threshold: of the rule; it has already been applied.
      default: the value of documents without a record.
    """
    ids, firsts = join_pieces(decided.tables["ids"], np.uint8)
    rejected = decided.tables["ids"]["document"][firsts].tolist()
    kept = dict(zip(rejected, range(len(ids)), strict=True))
    table = decided.tables["values"]
    names = ("if_kept", "if_rejected")
    numbers, starts = np.unique(table["document"], return_index=True)
    values = [
        dict(zip(numbers.tolist(), column.tolist(), strict=True))
        for column in (
            np.maximum.reduceat(table[name].view(np.float64), starts) if len(starts) else starts
            for name in names
        )
    ]
    for row, document in enumerate(documents):
        is_rejected = row in kept
        value = values[is_rejected].get(row, default)
        measured = [Measured(rule, value, threshold, failed=is_rejected)]
        if is_rejected:
            name = ids.row(kept[row]).tobytes().decode(errors="surrogatepass")
            measured.append(Measured(DUPLICATE_OF, name, ""))
        yield Verdict(document, tuple(measured))
