"""Remove long runs of words that occur again, in any document of any data set."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.document import Document, Verdict
from bert_data.curation.duplicates.units_in_rounds import CUTS, judge_cuts
from bert_data.curation.duplicates.winnowing import hash_runs, winnow
from bert_data.curation.step import CorpusStep, Decisions, ShardDecisions, register
from bert_data.settings import Share, Within
from bert_data.work.array_files import ArrayFile, ArrayWriter
from bert_data.work.ranges import RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout

_NGRAMS = Layout(("ngram", "document", "word"), num_keys=3)
"""The hash of an n-gram that stands for runs, and where it begins."""

PLACES = Layout(("document", "word"), num_keys=2)
"""A word of a document: where an n-gram or a run begins that occurs more than once."""

RUNS = Layout(("hash", "check", "document", "word"), num_keys=4)
"""128 bits of hashes of a run, and where it begins."""

WORDS_AT_A_TIME = 1 << 20


@register
class SubstringDuplicates(CorpusStep):
    """Removes runs of 50 or more words that occurred before in any document; the first one stays.

    This is ExactSubstr of Lee et al. 2022, "Deduplicating training data makes language models
    better" (arXiv:2107.06499). Tokens are words as written, punctuation included (curly quotes
    differ from straight ones); a Chinese or Japanese character is a word. A run of `length` words
    is a copy if an equal run, in the same document or another, ends before it begins, in the order
    of the data sets and their files. All words of copies are removed. The result depends only on
    the documents and their order.

    The measured value is the share of the document's words that is left.

    Attributes:
      length: words of the shortest run to remove, >= 1.
      min_kept: least share of a document's words that must be left, in [0, 1].
    """

    name = "substring_duplicates"
    length: Annotated[int, Within(1)] = 50
    min_kept: Share = 0.0

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        with ArrayWriter(path) as writer:
            for document in documents:
                writer.append(document.words.hashes)

    def decide(self, rounds: Rounds) -> Decisions:
        """Find first the n-grams that recur, and then the runs that contain one of these."""
        ngrams = rounds.over_parts("ngrams", self._write_ngrams, {"ngrams": _NGRAMS})["ngrams"]
        recurring = rounds.over_ranges("recurring", _find_recurring, ngrams, {"places": PLACES})
        runs = rounds.over_parts("runs", self._write_runs, {"runs": RUNS}, recurring)["runs"]
        copies = rounds.over_ranges("copies", self._find_copies, runs, {"places": PLACES})
        cuts = rounds.over_parts("cuts", self._write_cuts, {"cuts": CUTS}, copies)["cuts"]
        logging.info("%s: %d runs of words are copies", self.name, len(cuts))
        return Decisions(tables={"cuts": cuts})

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        return judge_cuts(decided.tables["cuts"], documents, self.min_kept, "runs of words")

    def _write_ngrams(self, part: Part, own: Own, writers: Writers) -> None:
        """Write the n-grams that stand for the runs of a part."""
        for portion in _portions(part):
            winnowed = winnow(portion.words, portion.bounds, self.length)
            chosen = winnowed.chosen()
            writers["ngrams"].add(ngram=winnowed.hashes[chosen], **portion.places(chosen))

    def _write_runs(self, part: Part, own: Own, writers: Writers) -> None:
        """Write the runs of a part whose n-gram occurs more than once."""
        places = own["places"].records()
        for portion in _portions(part):
            is_recurring = np.zeros(len(portion.words) + 1, bool)  # and False for no place, -1
            is_recurring[portion.words_at(places)] = True
            least = winnow(portion.words, portion.bounds, self.length).least
            starts = np.flatnonzero(is_recurring[least])
            hashes, checks = hash_runs(portion.words, starts, self.length)
            writers["runs"].add(hash=hashes, check=checks, **portion.places(starts))

    def _find_copies(self, reader: RangeReader, writers: Writers) -> None:
        """Write where runs begin that are copies of the first of their equals."""
        for batch in reader.batches(2):
            documents, words = batch.records["document"], batch.records["word"]
            is_near = words < batch.firsts("word") + np.uint64(self.length)
            is_copy = (documents != batch.firsts("document")) | ~is_near
            writers["places"].add(document=documents[is_copy], word=words[is_copy])

    def _write_cuts(self, part: Part, own: Own, writers: Writers) -> None:
        """Write the words that copies cover, as few runs."""
        places = own["places"].records()
        documents, words = places["document"], places["word"]
        is_first = np.ones(len(places), bool)
        is_first[1:] = (documents[1:] != documents[:-1]) | (
            words[1:] > words[:-1] + np.uint64(self.length)
        )
        is_last = np.append(is_first[1:], np.ones(min(1, len(places)), bool))
        writers["cuts"].add(
            document=documents[is_first],
            begin=words[is_first],
            end=words[is_last] + np.uint64(self.length),
        )


class _Portion(NamedTuple):
    """Some documents of a part, one after the other."""

    words: NDArray[np.uint64]  # their hashes
    bounds: NDArray[np.int64]  # where each document begins, and the end of the last one
    first: int  # number of the first document

    def places(self, words: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return the columns `document` and `word` of words of the portion."""
        rows = np.searchsorted(self.bounds, words, "right") - 1
        return {"document": self.first + rows, "word": words - self.bounds[rows]}

    def words_at(self, places: np.ndarray) -> NDArray[np.int64]:
        """Return the words of the portion that are among places, sorted records of `PLACES`."""
        last = self.first + len(self.bounds) - 1
        begin, end = np.searchsorted(places["document"], np.array([self.first, last], np.uint64))
        rows = (places["document"][begin:end] - np.uint64(self.first)).astype(np.int64)
        return self.bounds[rows] + places["word"][begin:end].astype(np.int64)


def _portions(part: Part) -> Iterator[_Portion]:
    """Yield the documents of a part, of bounded size except for a single document."""
    ragged = ArrayFile(part.path).rows()
    row = 0
    while row < len(ragged):
        start = ragged.offsets[row]
        end = int(np.searchsorted(ragged.offsets, start + WORDS_AT_A_TIME, "right")) - 1
        end = max(end, row + 1)
        bounds = ragged.offsets[row : end + 1] - start
        words = np.array(ragged.values[start : start + bounds[-1]])
        yield _Portion(words, bounds, part.first + row)
        row = end


def _find_recurring(reader: RangeReader, writers: Writers) -> None:
    """Write where n-grams begin that occur more than once."""
    for batch in reader.batches(1):
        recurring = batch.records[batch.sizes > 1]
        writers["places"].add(document=recurring["document"], word=recurring["word"])
