"""Cut runs of words out of the documents of a shard.

cuts   (document 7, words 0 to 12) (document 7, words 12 to 30)  ─▶  document 7 without 30 words
"""

from collections.abc import Iterable, Iterator

import numpy as np

from bert_data.curation.document import Document
from bert_data.curation.units import Unit, with_whole_sentences
from bert_data.curation.verdict import Verdict, measure
from bert_data.curation.word_runs import cut_words, runs_of_marked
from bert_data.work.records import Layout

CUTS = Layout(("document", "begin", "end"), num_keys=2)
"""A document, and words that it loses; the end is exclusive."""


def judge_cuts(
    cuts: np.ndarray,
    documents: Iterable[Document],
    min_kept: float,
    name: str,
    unit: Unit = "document",
) -> Iterator[Verdict]:
    """Cut runs of words out of documents, and measure the share of words that is left.

    Args:
      cuts: records of `CUTS`; documents of the shard count from 0. Runs may be next to each other,
        but do not overlap.
      min_kept: least share of a document's words that must be left.
      unit: the runs are units of `with_whole_sentences`.
    """
    runs: dict[int, list[tuple[int, int]]] = {}
    for row, begin, end in cuts.tolist():
        runs.setdefault(row, []).append((begin, end))
    for row, document in enumerate(documents):
        if row not in runs:
            yield Verdict(document, (measure("min_kept", 1.0, min_kept),))
            continue
        words = with_whole_sentences(document, unit).words
        marks = np.zeros(len(words), bool)
        for begin, end in runs[row]:
            marks[begin:end] = True
        num_kept = len(words) - int(marks.sum())
        kept = measure("min_kept", num_kept / len(words), min_kept)
        if kept.failed:
            yield Verdict(document, (kept,))
        else:
            text = cut_words(words, runs_of_marked(marks).tolist())
            yield Verdict(document.with_text(text), (kept,), {name: len(runs[row])})
