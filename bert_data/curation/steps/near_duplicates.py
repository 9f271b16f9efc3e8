"""Near duplicates over all data sets: MinHash finds candidates, exact similarity decides.

observe      shingles of each document ─▶ sets.values (disk), 8 bytes per band, sizes, ids
decide       buckets of a band ─▶ candidates ─▶ exact Jaccard ─▶ union-find ─▶ one is kept
judge_shard  similarity to the kept document, and its id
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.duplicates.decisions import judge_duplicates, leave_decisions
from bert_data.curation.duplicates.lsh_buckets import (
    find_buckets,
    find_twins,
    gather_sets,
    observed_sizes,
)
from bert_data.curation.duplicates.lsh_clusters import (
    NUM_REPRESENTATIVES,
    Clusters,
    find_roots,
    join_buckets,
    measure_kept,
)
from bert_data.curation.duplicates.minhash import (
    drop_repeated,
    make_band_keys,
    make_shingles,
    permutations,
)
from bert_data.curation.duplicates.normal_text import folded_words
from bert_data.curation.duplicates.ragged_files import RaggedWriter
from bert_data.curation.duplicates.rosters import (
    RankedStep,
    RosterWriter,
    read_roster,
)
from bert_data.curation.parameters import Within
from bert_data.curation.step import register
from bert_data.curation.verdict import Verdict
from bert_data.storage import load_array, remove, save_array

_MAX_BANDS = 100  # 8 bytes each: with all else, a document has less than 1,024 bytes in memory


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class NearDuplicates(RankedStep):
    """Keeps one of all documents that are nearly the same.

    Documents are compared as sets of shingles, the runs of `ngram_size` words that they contain, in
    lower case and without punctuation and symbols. A Chinese or Japanese character is a word, so
    shingles are runs of five characters there. The similarity of two documents is the exact Jaccard
    similarity: shared shingles divided by all shingles of either.

    MinHash (Broder 1997) selects the pairs to compare, as in Lee et al. 2022, "Deduplicating
    training data makes language models better" (arXiv:2107.06499): those that share one of
    `num_bands` bands of `rows_per_band` minima. Documents of similarity s share one with
    probability 1 - (1 - s^rows)^bands: 0.05 at 0.5, 0.77 at 0.75, 0.92 at 0.8, 0.9996 at 0.9.

    Pairs with a similarity above `max_similarity` are joined, and everything that is joined,
    directly or through others, forms a cluster. Each cluster keeps the document from the data set
    with the highest priority, then the longest, then the first by a hash of its id; the order of
    files does not matter. Buckets of more than 64 documents are compared as `lsh_clusters`
    describes, so large groups of similar documents stay linear. A document without words is never a
    duplicate.

    Deciding takes about 250 bytes of memory per document, and maps the shingles that are compared.
    The files take about 1.5 times the text.

    The measured value of a rejected document is its similarity to the one that is kept, or, if only
    a chain of others joins the two, its similarity to the next link. The value of a kept document
    is its greatest similarity to a better one that it was compared with, or 0.

    Attributes:
      max_similarity: greatest similarity of two kept documents that were compared, in [0, 1).
      ngram_size: words per shingle, >= 1; a shorter document is one shingle.
      ignore_case: compare words in lower case.
      num_bands: bands of the signature, 1 to 100.
      rows_per_band: minima per band, 1 to 64.
      priority: names of data sets, highest priority first; data sets that are not named follow in
        the order of the pipeline.
    """

    name = "near_duplicates"
    max_similarity: float = 0.75
    ngram_size: Annotated[int, Within(1, 1000)] = 5
    ignore_case: bool = True
    num_bands: Annotated[int, Within(1, _MAX_BANDS)] = 14
    rows_per_band: Annotated[int, Within(1, 64)] = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_similarity >= 1:
            raise ValueError(f"max_similarity is {self.max_similarity}; it must be in [0, 1)")

    def observe(self, folder: Path, documents: Iterable[Document], path: Path) -> None:
        """Write shingles, band keys, sizes and ids."""
        multipliers, addends = permutations(self.num_bands * self.rows_per_band)
        signature = np.empty(len(multipliers), np.uint32)
        all_keys = []
        with RosterWriter(path) as roster, RaggedWriter(path / "sets", np.uint64) as sets:
            for document in documents:
                shingles = shingle_set(document, self.ngram_size, ignore_case=self.ignore_case)
                keys = np.empty(self.num_bands, np.uint64)
                make_band_keys(shingles, multipliers, addends, signature, keys)
                roster.add(document, shingles.data)
                sets.append(shingles)
                all_keys.append(keys)
        by_band = np.array(all_keys, np.uint64).reshape(-1, self.num_bands).T
        save_array(path / "keys.npy", np.ascontiguousarray(by_band))

    def decide(self, folder: Path, paths: Sequence[Path], sources: Sequence[str]) -> None:
        """Find the clusters; leave each document's similarity and the number of the kept one."""
        roster = read_roster(paths, sources, self.priority)
        sizes = observed_sizes(roster, paths)
        twins = find_twins(roster, paths, sizes)
        needed = np.zeros(len(roster), bool)
        compared = np.flatnonzero((twins == np.arange(len(twins))) & (sizes > 0))
        for band in range(self.num_bands):
            members, bounds = find_buckets(roster, paths, band, compared)
            needed[members] = True
            save_array(folder / f"members-{band}.npy", members)
            save_array(folder / f"bounds-{band}.npy", bounds)
        sets = gather_sets(roster, paths, needed, folder / "candidates")
        zeros = np.zeros(len(roster))
        clusters = Clusters(np.arange(len(roster)), zeros, zeros.copy())
        representatives = np.empty(NUM_REPRESENTATIVES, np.int64)
        num_compared = num_crowded = 0
        for band in range(self.num_bands):
            buckets = [folder / f"{name}-{band}.npy" for name in ("members", "bounds")]
            counts = join_buckets(
                *(np.array(load_array(path)) for path in buckets),
                sets,
                float(self.max_similarity),
                representatives,
                clusters,
            )
            num_compared, num_crowded = num_compared + counts[0], num_crowded + counts[1]
            for path in buckets:
                remove(path)
        find_roots(clusters.parents)
        similarity = np.empty(len(roster))
        measure_kept(sets, twins, float(self.max_similarity), clusters, similarity)
        leave_decisions(folder, roster, paths, clusters.parents[twins], similarity)
        remove(folder / "candidates")
        self._report(num_compared, num_crowded)

    def _report(self, num_compared: int, num_crowded: int) -> None:
        logging.info("%s: %d pairs were compared exactly", self.name, num_compared)
        if num_crowded:
            logging.warning(
                "%s: %d times a document shared a band with more than %d documents unlike each"
                " other, and was not compared with all of them; more rows_per_band find fewer",
                self.name,
                num_crowded,
                NUM_REPRESENTATIVES,
            )

    def judge_shard(
        self, folder: Path, shard: int, path: Path, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Reject all documents of a cluster but the kept one."""
        return judge_duplicates(folder, shard, documents, "max_similarity", self.max_similarity)


def shingle_set(
    document: Document, ngram_size: int, *, ignore_case: bool = True
) -> NDArray[np.uint64]:
    """Return the hashes of a document's shingles, sorted, each once."""
    words = folded_words(document.words) if ignore_case else document.words
    shingles = np.empty(len(words), np.uint64)
    shingles = shingles[: make_shingles(words.hashes, words.is_symbol, ngram_size, shingles)]
    shingles.sort()
    return shingles[: drop_repeated(shingles)]
