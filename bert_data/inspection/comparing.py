"""Compare two sources, item by item and as multisets, and show how they differ.

Items are compared by digests of their content, whatever layout or format holds it; of each item 8
bytes stay in memory. Sets with different numbers of shards are compared in the order in which their
records were dealt to the shards.
"""

import collections
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.content import CellTable, Medium, StyledText, first_of
from bert_data.inspection.figures import NAMES, share, show_distributions
from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.showing import plural, show_lines
from bert_data.inspection.sources.items import Counts, Description, Item, Source, View, difference
from bert_data.inspection.sources.shard_items import ShardSource
from bert_data.progress import progress

_MAX_TOKENS_NAMED = 10
_MAX_LETTERS = 60
_DIGEST_LETTERS = 12


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyDifference:
    """Differences between the vocabularies of two sources; None for what is unknown.

    Attributes:
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
    """Common and differing items of two sources.

    Attributes:
      settings: those that differ, by name; None for one that is not known.
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


def compare(one: Source, other: Source, words: tuple[TokenNames, TokenNames]) -> Comparison:
    """Compare two sources."""
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
    descriptions: tuple[Description, Description], words: tuple[TokenNames, TokenNames]
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


def show_comparison(
    output: Medium,
    sources: tuple[Source, Source],
    comparison: Comparison,
    words: tuple[TokenNames, TokenNames],
    max_tokens: int,
) -> None:
    """Show all that differs, and what does not."""
    unit = sources[0].description.unit
    for name, source in zip(NAMES, sources, strict=True):
        described = f"  {source.description.kind} of {first_of(source.names)}"
        output.paragraph(StyledText(name, "strong"), described)
    _show_verdict(output, comparison, unit)
    _show_vocabulary(output, comparison)
    _show_settings(output, sources, comparison)
    if comparison.first is not None:
        _show_first(output, sources, comparison.first, words, max_tokens)
    show_distributions(output, comparison.distributions)


def _show_verdict(output: Medium, comparison: Comparison, unit: str) -> None:
    count, other_count = comparison.counts
    output.heading("The two are equal" if comparison.is_equal else "The two differ")
    if count != other_count:
        output.paragraph(f"The input has {count:,} {plural(unit)}, the other {other_count:,}.")
    if not max(comparison.counts):
        output.paragraph(f"Neither has a {unit}.")
        return
    in_order, anywhere = comparison.num_equal_in_order, comparison.num_equal
    output.paragraph(
        f"{in_order:,} of {max(comparison.counts):,} {plural(unit)} are equal in order"
        f" ({share(in_order, max(comparison.counts))}), {anywhere:,} in any order"
        f" ({share(anywhere, max(comparison.counts))})."
    )
    if comparison.is_dealt:
        output.paragraph(
            "The numbers of shards differ; the order is that in which records were dealt to them."
        )


def _show_vocabulary(output: Medium, comparison: Comparison) -> None:
    vocabulary = comparison.vocabulary
    sha256, other_sha256 = vocabulary.sha256
    if sha256 is None or other_sha256 is None:
        output.paragraph(StyledText("Nothing says whether the vocabulary is the same.", "faint"))
        return
    if not vocabulary.is_different:
        output.paragraph(f"The vocabulary is the same (sha256 {sha256[:_DIGEST_LETTERS]}...).")
        return
    sizes = (f"{size:,} tokens, " if size else "" for size in vocabulary.sizes)
    digests = (digest[:_DIGEST_LETTERS] for digest in (sha256, other_sha256))
    described = (f"{size}sha256 {digest}..." for size, digest in zip(sizes, digests, strict=True))
    output.paragraph(StyledText(f"The vocabularies differ: {' and '.join(described)}.", "bad"))
    if vocabulary.tokens:
        output.paragraph(f"{len(vocabulary.tokens):,} ids have different tokens:")
        rows = [
            (str(number), *("(none)" if token is None else token for token in tokens))
            for number, *tokens in vocabulary.tokens[:_MAX_TOKENS_NAMED]
        ]
        output.table(CellTable(head=("id", *NAMES), rows=rows, is_text=(1, 2)))


def _show_settings(output: Medium, sources: tuple[Source, Source], comparison: Comparison) -> None:
    unknown = [
        name for name, source in zip(NAMES, sources, strict=True) if not source.description.settings
    ]
    if unknown:
        sentence = f"Nothing says what made the {' and the '.join(unknown)}."
        output.paragraph(StyledText(sentence, "faint"))
    elif comparison.settings:
        output.heading("Settings that differ")
        rows = [
            (name, *("(none)" if value is None else _shorten(str(value)) for value in values))
            for name, values in comparison.settings.items()
        ]
        output.table(CellTable(head=("setting", *NAMES), rows=rows, is_text=(0, 1, 2)))
    else:
        output.paragraph("All settings are equal.")


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 3]}..."


def _show_first(
    output: Medium,
    sources: tuple[Source, Source],
    first: tuple[Item | None, Item | None],
    words: tuple[TokenNames, TokenNames],
    max_tokens: int,
) -> None:
    unit = sources[0].description.unit
    one, other = first
    if one is None or other is None:
        name, rest = ("input", other) if one is None else ("other", one)
        assert rest is not None
        output.heading(f"The {name} ends before {unit} {rest.number}")
    else:
        names = difference(one, other)
        output.heading(f"{unit} {one.number} is the first that differs, in {', '.join(names)}")
        rows = [
            (name, *say_difference(one.fields.get(name), other.fields.get(name))) for name in names
        ]
        output.table(CellTable(head=("field", *NAMES), rows=rows, is_text=(0, 1, 2)))
    for name, source, its_words, item in zip(NAMES, sources, words, first, strict=True):
        if item is None:
            continue
        output.heading(f"{name}  ", StyledText(f"{item.path}:{item.place}", "faint"))
        view = View(
            words=its_words, max_tokens=max_tokens, marked=_places(one, other), mark_style="differs"
        )
        show_lines(output, source.lines(item, view))


def _places(one: Item | None, other: Item | None) -> dict[str, set[int]]:
    if one is None or other is None:
        return {}
    places = {}
    for name in difference(one, other):
        a, b = one.fields.get(name), other.fields.get(name)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            size = min(a.size, b.size)
            differing = np.flatnonzero(a[:size] != b[:size]).tolist()
            places[name] = {*differing, *range(size, max(a.size, b.size))}
    return places


def say_difference(one: Any, other: Any) -> tuple[str, str]:
    """Return how the values of a field differ: two values, or the first place and its values."""
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return _say_value(one), _say_value(other)
    size = min(one.size, other.size)
    places = np.flatnonzero(one[:size] != other[:size])
    if not places.size:
        return f"{one.size:,} values", f"{other.size:,} values"
    at = int(places[0])
    more = f" ({places.size:,} places differ)" if places.size > 1 else ""
    return f"{one[at]} at {at}", f"{other[at]}{more}"


def _say_value(value: Any) -> str:
    if value is None:
        return "(none)"
    return f"{value.size:,} values" if isinstance(value, np.ndarray) else _shorten(str(value))


def as_json(
    sources: tuple[Source, Source], comparison: Comparison, words: tuple[TokenNames, TokenNames]
) -> dict[str, Any]:
    """Return the comparison for programs."""
    first = None
    if comparison.first is not None:
        one, other = comparison.first
        first = {
            "number": next(item.number for item in comparison.first if item is not None),
            "fields": difference(one, other) if one is not None and other is not None else None,
            **{
                name: None if item is None else source.row(item, its_words)
                for name, source, its_words, item in zip(
                    NAMES, sources, words, comparison.first, strict=True
                )
            },
        }
    return {
        "equal": comparison.is_equal,
        "settings": comparison.settings,
        "vocabulary": dataclasses.asdict(comparison.vocabulary),
        "counts": comparison.counts,
        "equal_in_order": comparison.num_equal_in_order,
        "equal_in_any_order": comparison.num_equal,
        "first_difference": first,
        "distributions": {
            name: [sorted(counts.items()) for counts in pair]
            for name, pair in comparison.distributions.items()
        },
    }
