"""Remove documents that are equal up to case, white space and the like, across all data sets."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np

from bert_data.curation.document import Document
from bert_data.curation.duplicates.decisions import judge_duplicates, leave_decisions
from bert_data.curation.duplicates.normal_text import UnicodeForm, normalize
from bert_data.curation.duplicates.rosters import (
    RankedStep,
    RosterWriter,
    groups_of_equals,
    read_roster,
)
from bert_data.curation.parameters import Within
from bert_data.curation.step import register
from bert_data.curation.verdict import Verdict


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class ExactDuplicates(RankedStep):
    """Keeps one of all documents that have the same normal form.

    Normal forms are compared by a 128-bit hash (XXH3). The copy that is kept comes from the data
    set with the highest priority; among those it is the longest, and among equally long ones the
    first by a hash of its id. The order of files does not matter. The measured value is the rank of
    a document among its copies, from 1.

    Attributes:
      max_copies: number of copies to keep, >= 1.
      unicode_form: "NFKC", "NFC" or "none".
      ignore_case: treat upper and lower case as equal.
      ignore_whitespace: treat any run of white space as one space, and ignore it at both ends.
      ignore_punctuation: ignore punctuation.
      priority: names of data sets, highest priority first; data sets that are not named follow in
        the order of the pipeline.
    """

    name = "exact_duplicates"
    accepts_markup = True
    max_copies: Annotated[int, Within(1)] = 1
    unicode_form: UnicodeForm = "NFKC"
    ignore_case: bool = True
    ignore_whitespace: bool = True
    ignore_punctuation: bool = False

    def observe(self, folder: Path, documents: Iterable[Document], path: Path) -> None:
        """Write the hashes of the normal forms, the sizes and the ids."""
        with RosterWriter(path) as roster:
            for document in documents:
                normal = normalize(
                    document.text,
                    unicode_form=self.unicode_form,
                    ignore_case=self.ignore_case,
                    ignore_whitespace=self.ignore_whitespace,
                    ignore_punctuation=self.ignore_punctuation,
                )
                roster.add(document, normal.encode(errors="surrogatepass"))

    def decide(self, folder: Path, paths: Sequence[Path], sources: Sequence[str]) -> None:
        """Number each document's copies, best first; takes about 100 bytes per document."""
        roster = read_roster(paths, sources, self.priority)
        kept, copies = np.arange(len(roster)), np.ones(len(roster))
        for ranks in groups_of_equals(paths, roster):
            copies[ranks] = np.arange(1, len(ranks) + 1)
            kept[ranks[copies[ranks] > self.max_copies]] = ranks[0]
        leave_decisions(folder, roster, paths, kept, copies)

    def judge_shard(
        self, folder: Path, shard: int, path: Path, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Reject surplus copies."""
        return judge_duplicates(folder, shard, documents, "max_copies", self.max_copies)
