"""Compare two sources, item by item and as multisets.

    input  r0 r1 r2 r3      4 items in both: 1 equal in order, 3 in any order
    other  r0 r2 r1 x       first difference: item 1

Items are compared by digests of their content, whatever layout or format holds it. Each source is
read once; of each item 8 bytes stay in memory. Sets with different numbers of shards are compared
in the order in which their records were dealt to the shards.
"""

import collections
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.sources.items import Counts, Description, Item, Source
from bert_data.inspection.sources.shards import ShardSource
from bert_data.inspection.words import Words
from bert_data.progress import progress


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyDifference:
    """How the vocabularies of two sources differ.

    Attributes:
      sha256: their digests; None where one is unknown.
      sizes: their sizes; None where one is unknown.
      tokens: of ids that have different ones, the id and both tokens; None where one has none. Only
        known if both vocabularies are at hand.
    """

    sha256: tuple[str | None, str | None]
    sizes: tuple[int | None, int | None]
    tokens: Sequence[tuple[int, str | None, str | None]] = ()

    @property
    def is_different(self) -> bool:
        """Whether they are known to differ."""
        return None not in self.sha256 and self.sha256[0] != self.sha256[1]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two sources have in common, and what not.

    Attributes:
      settings: of what made them: those that differ, by name; None for one that is not known.
      vocabulary: their vocabularies.
      counts: of items.
      num_equal_in_order: items that are equal to the one of the same number.
      num_equal: items that both have, in whatever order, each as often as both have it.
      first: the first pair that differs, None for an item that is not there; None if no pair does.
      distributions: by what is counted, how often each value occurs in either.
      is_dealt: whether records were read in the order in which they were dealt to the shards,
        rather than shard after shard.
    """

    settings: Mapping[str, tuple[Any, Any]]
    vocabulary: VocabularyDifference
    counts: tuple[int, int]
    num_equal_in_order: int
    num_equal: int
    first: tuple[Item | None, Item | None] | None
    distributions: Mapping[str, tuple[Counts, Counts]]
    is_dealt: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether all items are equal, in order, and the vocabularies are not known to differ."""
        return self.first is None and not self.vocabulary.is_different

    @property
    def num_items(self) -> int:
        """The larger of both counts, of which items in common are a share."""
        return max(self.counts)


def compare(one: Source, other: Source, words: tuple[Words, Words]) -> Comparison:
    """Compare two sources.

    Raises:
      ValueError: they are of different kinds.
    """
    kinds = one.description.kind, other.description.kind
    if kinds[0] != kinds[1]:
        names = one.names[0], other.names[0]
        raise ValueError(
            f"{names[0]} holds {kinds[0]} and {names[1]} {kinds[1]}, which cannot be compared"
        )
    digests: list[NDArray[np.uint64]] = []
    distributions: dict[str, tuple[Counts, Counts]] = {}
    with progress("compare", total=0, unit=one.description.unit) as advance:
        for which, source in enumerate((one, other)):
            parts = [np.zeros(0, np.uint64)]
            for tally in source.tallies():
                parts.append(tally.digests)
                for name, counts in tally.counts.items():
                    nothing: tuple[Counts, Counts] = collections.Counter(), collections.Counter()
                    distributions.setdefault(name, nothing)[which].update(counts)
                advance(tally.digests.size)
            digests.append(np.concatenate(parts))
    orders = _orders_of_deal(one, other)
    if orders is not None:
        digests = [part[order] for part, order in zip(digests, orders, strict=True)]
    size = min(part.size for part in digests)
    is_equal = digests[0][:size] == digests[1][:size]
    first = None
    if not is_equal.all() or digests[0].size != digests[1].size:
        at = int(np.argmin([*is_equal, False]))
        order, other_order = orders or (None, None)
        first = _item_at(one, at, order), _item_at(other, at, other_order)
    return Comparison(
        settings=different_settings(one.description, other.description),
        vocabulary=compare_vocabularies((one.description, other.description), words),
        counts=(digests[0].size, digests[1].size),
        num_equal_in_order=int(np.count_nonzero(is_equal)),
        num_equal=count_common(*digests),
        first=first,
        distributions=distributions,
        is_dealt=orders is not None,
    )


def _orders_of_deal(one: Source, other: Source) -> list[NDArray[np.int64]] | None:
    """Return the orders in which records were dealt to different numbers of shards, or None."""
    if not isinstance(one, ShardSource) or not isinstance(other, ShardSource):
        return None
    if len(one.names) == len(other.names):
        return None
    orders = [each for each in (one.dealt_order(), other.dealt_order()) if each is not None]
    return orders if len(orders) == 2 else None


def _item_at(source: Source, at: int, order: NDArray[np.int64] | None) -> Item | None:
    """Return an item by its place in an order, with that as its number; None if there is none."""
    if order is not None and at >= order.size:
        return None
    item = next(source.read([at if order is None else int(order[at])]), None)
    return None if item is None else dataclasses.replace(item, number=at)


def count_common(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    """Return how many values two multisets have in common, each as often as both have it."""
    values, counts = np.unique(one, return_counts=True)
    other_values, other_counts = np.unique(other, return_counts=True)
    _, at, other_at = np.intersect1d(values, other_values, assume_unique=True, return_indices=True)
    return int(np.minimum(counts[at], other_counts[other_at]).sum())


def different_settings(one: Description, other: Description) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, by name; none if nothing is known of one of the two."""
    if not one.settings or not other.settings:
        return {}
    names = dict.fromkeys([*one.settings, *other.settings])
    pairs = {name: (one.settings.get(name), other.settings.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def compare_vocabularies(
    descriptions: tuple[Description, Description], words: tuple[Words, Words]
) -> VocabularyDifference:
    """Compare the vocabularies that manifests name, or two that are at hand."""
    digests, sizes = [], []
    are_two = words[0].path != words[1].path
    for description, its_words in zip(descriptions, words, strict=True):
        digests.append(description.vocab_sha256 or (its_words.sha256 if are_two else None))
        sizes.append(description.vocab_size or len(its_words.tokens) or None)
    tokens = itertools.zip_longest(words[0].tokens, words[1].tokens)
    differing = [(number, *pair) for number, pair in enumerate(tokens) if pair[0] != pair[1]]
    are_both_known = bool(words[0].tokens) and bool(words[1].tokens)
    return VocabularyDifference(
        sha256=(digests[0], digests[1]),
        sizes=(sizes[0], sizes[1]),
        tokens=differing if are_both_known else (),
    )
