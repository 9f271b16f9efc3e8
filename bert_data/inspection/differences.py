"""Show how two sources differ: in words, as tables and plots, or as JSON.

2 of 3 records are equal in order (66.7%), 2 in any order (66.7%).

record 1 is the first that differs, in masked_lm_ids
input  [CLS] the [MASK](cat) sat [SEP]
other  [CLS] the [MASK](mat) sat [SEP]
"""

from typing import Any

import numpy as np

from bert_data.inspection.choosing import plural
from bert_data.inspection.comparing import Comparison
from bert_data.inspection.content import Output, Span, Table, first_of
from bert_data.inspection.distributions import NAMES, share, show_distributions
from bert_data.inspection.showing import show_lines
from bert_data.inspection.sources.items import Item, Source, View, difference
from bert_data.inspection.words import Words

_MAX_TOKENS_NAMED = 10
_MAX_LETTERS = 60
_DIGEST_LETTERS = 12


def show_comparison(
    output: Output,
    sources: tuple[Source, Source],
    comparison: Comparison,
    words: tuple[Words, Words],
    max_tokens: int,
) -> None:
    """Show all that differs, and what does not."""
    unit = sources[0].description.unit
    for name, source in zip(NAMES, sources, strict=True):
        described = f"  {source.description.kind} of {first_of(source.names)}"
        output.paragraph(Span(name, "strong"), described)
    _show_verdict(output, comparison, unit)
    _show_vocabulary(output, comparison)
    _show_settings(output, sources, comparison)
    if comparison.first is not None:
        _show_first(output, sources, comparison.first, words, max_tokens)
    show_distributions(output, comparison.distributions)


def _show_verdict(output: Output, comparison: Comparison, unit: str) -> None:
    count, other_count = comparison.counts
    output.heading("The two are equal" if comparison.is_equal else "The two differ")
    if count != other_count:
        output.paragraph(f"The input has {count:,} {plural(unit)}, the other {other_count:,}.")
    if not comparison.num_items:
        output.paragraph(f"Neither has a {unit}.")
        return
    in_order, anywhere = comparison.num_equal_in_order, comparison.num_equal
    output.paragraph(
        f"{in_order:,} of {comparison.num_items:,} {plural(unit)} are equal in order"
        f" ({share(in_order, comparison.num_items)}), {anywhere:,} in any order"
        f" ({share(anywhere, comparison.num_items)})."
    )
    if comparison.is_dealt:
        output.paragraph(
            "The numbers of shards differ; the order is that in which records were dealt to them."
        )


def _show_vocabulary(output: Output, comparison: Comparison) -> None:
    vocabulary = comparison.vocabulary
    sha256, other_sha256 = vocabulary.sha256
    if sha256 is None or other_sha256 is None:
        output.paragraph(Span("Nothing says whether the vocabulary is the same.", "faint"))
        return
    if not vocabulary.is_different:
        output.paragraph(f"The vocabulary is the same (sha256 {sha256[:_DIGEST_LETTERS]}...).")
        return
    sizes = (f"{size:,} tokens, " if size else "" for size in vocabulary.sizes)
    digests = (digest[:_DIGEST_LETTERS] for digest in (sha256, other_sha256))
    described = (f"{size}sha256 {digest}..." for size, digest in zip(sizes, digests, strict=True))
    output.paragraph(Span(f"The vocabularies differ: {' and '.join(described)}.", "bad"))
    if vocabulary.tokens:
        output.paragraph(f"{len(vocabulary.tokens):,} ids have different tokens:")
        rows = [
            (str(number), *("(none)" if token is None else token for token in tokens))
            for number, *tokens in vocabulary.tokens[:_MAX_TOKENS_NAMED]
        ]
        output.table(Table(head=("id", *NAMES), rows=rows, is_text=(1, 2)))


def _show_settings(output: Output, sources: tuple[Source, Source], comparison: Comparison) -> None:
    unknown = [
        name for name, source in zip(NAMES, sources, strict=True) if not source.description.settings
    ]
    if unknown:
        sentence = f"Nothing says what made the {' and the '.join(unknown)}."
        output.paragraph(Span(sentence, "faint"))
    elif comparison.settings:
        output.heading("Settings that differ")
        rows = [
            (name, *("(none)" if value is None else _shorten(str(value)) for value in values))
            for name, values in comparison.settings.items()
        ]
        output.table(Table(head=("setting", *NAMES), rows=rows, is_text=(0, 1, 2)))
    else:
        output.paragraph("All settings are equal.")


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 3]}..."


def _show_first(
    output: Output,
    sources: tuple[Source, Source],
    first: tuple[Item | None, Item | None],
    words: tuple[Words, Words],
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
        output.table(Table(head=("field", *NAMES), rows=rows, is_text=(0, 1, 2)))
    for name, source, its_words, item in zip(NAMES, sources, words, first, strict=True):
        if item is None:
            continue
        output.heading(f"{name}  ", Span(f"{item.path}:{item.place}", "faint"))
        view = View(
            words=its_words, max_tokens=max_tokens, marked=_places(one, other), mark_style="differs"
        )
        show_lines(output, source.lines(item, view))


def _places(one: Item | None, other: Item | None) -> dict[str, set[int]]:
    """Return where arrays of two items differ, by the name of their field."""
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
    sources: tuple[Source, Source], comparison: Comparison, words: tuple[Words, Words]
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
        "vocabulary": {
            "sha256": comparison.vocabulary.sha256,
            "sizes": comparison.vocabulary.sizes,
            "tokens": comparison.vocabulary.tokens,
        },
        "counts": comparison.counts,
        "equal_in_order": comparison.num_equal_in_order,
        "equal_in_any_order": comparison.num_equal,
        "first_difference": first,
        "distributions": {
            name: [sorted(counts.items()) for counts in pair]
            for name, pair in comparison.distributions.items()
        },
    }
