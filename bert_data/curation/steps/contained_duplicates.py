"""Documents that larger ones contain: a book in an anthology, or another edition of it.

observe      shingles of each document ─▶ sets.values (disk), sizes, ids
decide       inverted index of sampled shingles ─▶ candidates ─▶ exact containment ─▶ trees
judge_shard  greatest containment, and the id of the kept document
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from absl import logging

from bert_data.curation.document import Document, Verdict
from bert_data.curation.duplicates.containment import find_containers
from bert_data.curation.duplicates.lsh_clusters import find_components
from bert_data.curation.duplicates.normal_form import compared_words
from bert_data.curation.duplicates.ranks import (
    EQUAL,
    KEPT,
    RANK,
    RankedStep,
    RankWriter,
    decide_by,
    judge_duplicates,
    read_ranks,
    size_first,
)
from bert_data.curation.step import Decisions, ShardDecisions, register
from bert_data.curation.steps.near_duplicates import keep_best, shingle_set, write_digests_of_sets
from bert_data.settings import Within
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout

_RANKED = Layout(("root", *RANK), num_keys=4)


@register
class ContainedDuplicates(RankedStep):
    """Rejects documents that are almost entirely contained in a larger one.

    Documents are compared as sets of shingles, as `near_duplicates` does. The containment of two is
    the number of shingles that they share, divided by the number in the smaller one (Broder 1997,
    "On the resemblance and containment of documents"): it is 1 for a book in an anthology, whose
    Jaccard similarity is small. LLaMA removes books that share more than 90% of their content with
    another (Touvron et al. 2023, arXiv:2302.13971, section 2.1).

    A document is rejected if a larger one, kept or not, contains more than `max_containment` of it.
    So the largest stays, whatever the order of files. Of documents with the same shingles, the one
    from the data set with the highest priority stays, then the first by a hash of its id.

    An inverted index holds one shingle in four, chosen by hash. Each of them pairs a document with
    the four largest documents that have it; pairs that share half of what `max_containment`
    requires are compared by all their shingles. Contained documents of fifty words or more are
    nearly always found, shorter ones less often.

    Tasks stay within --max_memory_mb, plus the shingles of two documents. Temporary files take
    about 1.5 times the size of the text, as much again for the index, and the space of the pairs
    compared.

    The measured value is the greatest share of the document's shingles in a larger one that it was
    compared with, or 0.

    Attributes:
      max_containment: greatest share of a kept document's shingles that a larger one may contain,
        in [0, 1).
      ngram_size: words per shingle, >= 1; a shorter document is one shingle.
      ignore_case: compare words in lower case.
    """

    name = "contained_duplicates"
    max_containment: float = 0.9
    ngram_size: Annotated[int, Within(1, 1000)] = 5
    ignore_case: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.max_containment < 1:
            raise ValueError(f"max_containment is {self.max_containment}; it must be in [0, 1)")

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        with RankWriter(path) as writer:
            for document in documents:
                words = compared_words(document.words, ignore_case=self.ignore_case)
                shingles = shingle_set(words, self.ngram_size)
                writer.add(document, shingles.data, len(shingles))
                writer.append(shingles)

    def decide(self, rounds: Rounds) -> Decisions:
        levels = self.levels(rounds.parts)
        write = functools.partial(write_digests_of_sets, levels)
        equal = rounds.over_parts("digests", write, {"equal": EQUAL})["equal"]
        edges, values = find_containers(rounds, equal, levels, float(self.max_containment))
        roots = find_components(rounds, edges)
        ranked = rounds.over_parts(
            "ranks", functools.partial(_write_ranks, levels), {"ranked": _RANKED}, {"roots": roots}
        )["ranked"]
        kept = rounds.over_ranges("best", keep_best, ranked, {"kept": KEPT})["kept"]
        logging.info("%s: %d pairs were compared exactly", self.name, rounds.counted["compared"])
        return decide_by(rounds, values, kept, with_copies=self.copies_field is not None)

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        rule, threshold = "max_containment", self.max_containment
        return self.note_copies(
            decided, judge_duplicates(decided, documents, rule, threshold, default=0.0)
        )


def _write_ranks(levels: Mapping[str, int], part: Part, own: Own, writers: Writers) -> None:
    """Write the ranks of a shard's documents that are joined to others, the largest first."""
    roots, ranks = own["roots"].records(), read_ranks(part, levels)
    ranks["order"] = size_first(ranks["order"])
    rows = (roots["document"] - np.uint64(part.first)).astype(np.int64)
    writers["ranked"].add(root=roots["root"], **{name: ranks[name][rows] for name in RANK})
