"""Remove documents that are equal up to case, white space and the like, across all data sets."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from bert_data.curation.document import Document
from bert_data.curation.duplicates.decisions import KEPT, VALUES, decide_by, judge_duplicates
from bert_data.curation.duplicates.ranks import EQUAL, RankedStep, RankWriter, write_digests
from bert_data.curation.duplicates.winnowing import UnicodeForm, normalize
from bert_data.curation.parameters import Within
from bert_data.curation.step import Decisions, ShardDecisions, register
from bert_data.curation.verdict import Verdict
from bert_data.work.ranges import RangeReader
from bert_data.work.rounds import Rounds, Writers


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

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        """Write the hashes of the normal forms, the sizes and the ids."""
        with RankWriter(path) as ranks:
            for document in documents:
                normal = normalize(
                    document.text,
                    unicode_form=self.unicode_form,
                    ignore_case=self.ignore_case,
                    ignore_whitespace=self.ignore_whitespace,
                    ignore_punctuation=self.ignore_punctuation,
                )
                ranks.add(document, normal.encode(errors="surrogatepass"))

    def decide(self, rounds: Rounds) -> Decisions:
        """Number the copies of each document, best first."""
        equal = rounds.over_parts(
            "digests", functools.partial(write_digests, self.levels(rounds.parts)), {"equal": EQUAL}
        )["equal"]
        written = rounds.over_ranges(
            "copies", self._number_copies, equal, {"values": VALUES, "kept": KEPT}
        )
        rounds.remove(equal)
        return decide_by(rounds, written["values"], written["kept"])

    def _number_copies(self, reader: RangeReader, writers: Writers) -> None:
        for batch in reader.batches(2):
            is_copy = batch.sizes > 1
            document, copies = batch.records["document"][is_copy], batch.places[is_copy] + 1.0
            writers["values"].add(document=document, if_rejected=copies, if_kept=copies)
            is_surplus = batch.places >= self.max_copies
            writers["kept"].add(
                kept=batch.firsts("document")[is_surplus],
                document=batch.records["document"][is_surplus],
            )

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Reject surplus copies."""
        return judge_duplicates(decided, documents, "max_copies", self.max_copies, default=1.0)
