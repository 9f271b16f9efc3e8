"""Near duplicates over all data sets: MinHash finds candidates, exact similarity decides.

observe      shingles of each document ─▶ sets.values (disk), 8 bytes per band, sizes, ids
decide       buckets ─▶ shingles to each ─▶ exact Jaccard ─▶ components ─▶ one is kept
judge_shard  greatest similarity, and the id of the kept document
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.document import Document, Verdict
from bert_data.curation.duplicates.lsh_buckets import SetWriter, compare_documents, set_sizes
from bert_data.curation.duplicates.lsh_clusters import NUM_REPRESENTATIVES, find_components
from bert_data.curation.duplicates.minhash import drop_repeated, make_shingles
from bert_data.curation.duplicates.normal_form import compared_words, places_of
from bert_data.curation.duplicates.ranks import (
    RANK,
    RankWriter,
    id_hash,
    judge_duplicates,
    read_ranks,
    write_digests,
)
from bert_data.curation.duplicates.units_in_rounds import UnitStep, UnitWriter, long_units, reject
from bert_data.curation.quality.languages import units_of
from bert_data.curation.step import Decisions, ShardDecisions, register
from bert_data.curation.words import Words
from bert_data.settings import Within
from bert_data.work.ranges import RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout

_RANKED = Layout(("root", *RANK), num_keys=4)
_MAX_BANDS = 100  # 8 bytes each: with all else, a document has less than 1,024 bytes in memory
_LEAST_FOUND = 0.01  # of the pairs half-way between `max_similarity` and 1


@register
class NearDuplicates(UnitStep):
    """Keeps one of all documents that are nearly the same.

    Documents are compared as sets of shingles: runs of `ngram_size` words, in lower case, after
    normalization (NFKC, straight quotes, no invisible characters), without punctuation and symbols.
    A Chinese or Japanese character is a word, so shingles there are runs of five characters. The
    similarity of two documents is their exact Jaccard similarity: the number of shared shingles
    divided by the number in either.

    MinHash (Broder 1997) selects the pairs to compare, as in Lee et al. 2022, "Deduplicating
    training data makes language models better" (arXiv:2107.06499): those that agree in one of
    `num_bands` bands of `rows_per_band` minima. Documents of similarity s do so with probability 1
    - (1 - s^rows)^bands: 0.05 at 0.5, 0.77 at 0.75, 0.92 at 0.8, 0.9996 at 0.9.

    Pairs with a similarity above `max_similarity` are joined; documents joined directly or through
    others form a cluster. Each cluster keeps the document from the data set with the highest
    priority, then the longest, then the first by a hash of its id; the order of files does not
    matter, unless documents share an id. In a bucket of more than 64 documents, each is compared
    with up to 64 dissimilar representatives of the bucket, so the time for large groups of similar
    documents is linear. The best documents of a bucket come first, so the clusters depend on the
    documents alone. A document without words is never a duplicate.

    Tasks stay within --max_memory_mb, plus the shingles of 65 documents. Temporary files take about
    1.5 times the size of the text, and the space of the pairs compared.

    The measured value of a rejected document is its greatest similarity to any document that it was
    compared with; the kept document of the cluster may be less similar, if others join the two. The
    value of a kept document is its greatest similarity to a better one that it was compared with,
    or 0.

    With another `unit`, the step compares paragraphs, lines or sentences, across documents and
    within them (as Baichuan 2 does: Yang et al. 2023, arXiv:2309.10305). All of a cluster but the
    best one are cut out of their documents. The best one comes from the data set with the highest
    priority, then is the longest, then from the first document by the hash, then the first.
    Removing a sentence also joins the wrapped lines of the document. The measured value is the
    share of the document's words that is left. One changed word in the middle of 28 lowers the
    similarity to 0.66; for sentences, use a lower threshold, smaller shingles and shorter bands
    (0.5, 3, and 28 bands of 4, say).

    Attributes:
      max_similarity: greatest similarity of two kept documents that were compared, in [0, 1).
      ngram_size: words per shingle, >= 1; a shorter document is one shingle.
      ignore_case: compare words in lower case.
      num_bands: bands of the signature, 1 to 100.
      rows_per_band: minima per band, 1 to 64. It is an error if the bands would compare less than
        1% of pairs with a similarity half-way between `max_similarity` and 1.
    """

    name = "near_duplicates"
    max_similarity: float = 0.75
    ngram_size: Annotated[int, Within(1, 1000)] = 5
    ignore_case: bool = True
    num_bands: Annotated[int, Within(1, _MAX_BANDS)] = 14
    rows_per_band: Annotated[int, Within(1, 64)] = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        similarity = (1 + self.max_similarity) / 2
        found = 1 - (1 - similarity**self.rows_per_band) ** self.num_bands
        if found < _LEAST_FOUND:
            raise ValueError(
                f"num_bands is {self.num_bands} and rows_per_band is {self.rows_per_band}, which"
                f" compares {found:.2g} of the pairs with a similarity of {similarity:.4g}; they"
                f" must compare {_LEAST_FOUND} or more: take more bands of fewer rows"
            )

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        with (
            RankWriter(path) as ranks,
            SetWriter(ranks, self.num_bands, self.rows_per_band) as sets,
        ):
            if self.unit != "document":
                self._add_units(documents, ranks, sets).write(ranks)
                return
            for document in documents:
                words = compared_words(document.words, ignore_case=self.ignore_case)
                shingles = shingle_set(words, self.ngram_size)
                ranks.add(document, shingles.data)
                sets.add(shingles)

    def _add_units(
        self, documents: Iterable[Document], ranks: RankWriter, sets: SetWriter
    ) -> UnitWriter:
        """Add the units of documents that are long enough, and return where they are."""
        units = UnitWriter()
        for row, document in enumerate(documents):
            words, bounds = units_of(document, self.unit)
            tie = id_hash(document)
            _, spans, sizes = long_units(words, bounds, self.shortest)
            compared = compared_words(words, ignore_case=self.ignore_case)
            places = places_of(compared, words, spans)
            shingles = sets.add_units(compared, places, self.ngram_size)
            for size, each in zip(sizes.tolist(), shingles, strict=True):
                ranks.add_unit(size, tie, each.data)
            units.add(row, spans)
        return units

    def decide(self, rounds: Rounds) -> Decisions:
        levels = self.levels(rounds.parts)
        equal = self.find_equal(rounds, functools.partial(write_digests_of_sets, levels))
        edges, values = compare_documents(rounds, equal, levels, float(self.max_similarity))
        roots = find_components(rounds, edges)
        ranked = rounds.over_parts(
            "ranks", functools.partial(_write_ranks, levels), {"ranked": _RANKED}, {"roots": roots}
        )["ranked"]
        best = rounds.over_ranges("best", keep_best, ranked, self.outputs())
        self._report(rounds.counted["compared"], rounds.counted["crowded"])
        return self.decide_by(rounds, values, best)

    def _report(self, num_compared: int, num_crowded: int) -> None:
        logging.info("%s: %d pairs were compared exactly", self.name, num_compared)
        if num_crowded:
            logging.warning(
                "%s: %d times, a %s shared a band with more than %d dissimilar %ss and was compared"
                " with some of them only; a larger rows_per_band makes this rarer",
                self.name,
                num_crowded,
                self.unit,
                NUM_REPRESENTATIVES,
                self.unit,
            )

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        if self.unit != "document":
            return self.judge_units(decided, documents)
        verdicts = judge_duplicates(
            decided, documents, "max_similarity", self.max_similarity, default=0.0
        )
        return self.note_copies(decided, verdicts)


def write_digests_of_sets(
    levels: Mapping[str, int], part: Part, own: Own, writers: Writers
) -> None:
    """Write the digests of documents with shingles."""
    write_digests(levels, part, own, writers, set_sizes(part) > 0)


def _write_ranks(levels: Mapping[str, int], part: Part, own: Own, writers: Writers) -> None:
    roots, ranks = own["roots"].records(), read_ranks(part, levels)
    rows = (roots["document"] - np.uint64(part.first)).astype(np.int64)
    writers["ranked"].add(root=roots["root"], **{name: ranks[name][rows] for name in RANK})


def keep_best(reader: RangeReader, writers: Writers) -> None:
    """Reject all documents with a root but the best one."""
    for batch in reader.batches(1):
        is_rejected = batch.places > 0
        rejected = batch.records["document"][is_rejected]
        reject(writers, rejected, batch.firsts("document")[is_rejected])


def shingle_set(words: Words, ngram_size: int) -> NDArray[np.uint64]:
    """Return the hashes of the shingles of a text, sorted, each once."""
    shingles = np.empty(len(words), np.uint64)
    shingles = shingles[: make_shingles(words.hashes, words.is_symbol, ngram_size, shingles)]
    shingles.sort()
    return shingles[: drop_repeated(shingles)]
