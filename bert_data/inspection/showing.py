"""Choose items of a source, and show them: in a terminal, on a page, or as JSON."""

import itertools
import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bert_data.curation.running.field_values import finite
from bert_data.inspection.configs import Choice, parse_numbers
from bert_data.inspection.readable_ids import TokenNames, WordSearch
from bert_data.inspection.sources.instances import MaskedSource
from bert_data.inspection.sources.items import Item, Source, View
from bert_data.inspection.sources.texts import KIND_OF_TEXTS, LEDGERS
from bert_data.inspection.terminal import StyledText, Terminal, first_of
from bert_data.progress import plural


class Chosen(NamedTuple):
    """An item, and places of tokens to highlight by the name of their field."""

    item: Item
    marked: Mapping[str, set[int]]


def choose(source: Source, choice: Choice, words: TokenNames) -> Iterator[Chosen]:
    """Yield the chosen items, in order."""
    if choice.word is not None:
        yield from itertools.islice(_with_word(source, choice, words), choice.num_records)
        return
    if choice.record is not None:
        numbers = parse_numbers(choice.record)
    elif choice.seed is not None:
        count = source.count()
        drawn = random.Random(choice.seed).sample(range(count), min(choice.num_records, count))
        numbers = sorted(drawn)
    else:
        numbers = list(range(choice.num_records))
    num_found = 0
    for item in source.read(numbers):
        num_found += 1
        yield Chosen(item, {})
    if choice.record is not None and num_found < len(numbers):
        unit, count = source.description.unit, source.count()
        there_are = f"{plural(unit)} are numbered from 0 to {count - 1}"
        if not count:
            there_are = f"there are no {plural(unit)} at all"
        raise ValueError(f"there is no {unit} {numbers[num_found]}: {there_are}")


def _with_word(source: Source, choice: Choice, words: TokenNames) -> Iterator[Chosen]:
    assert choice.word is not None
    search: WordSearch | None = None
    pattern = re.compile(rf"(?<!\w){re.escape(choice.word)}(?!\w)", re.IGNORECASE)
    for item in source.stream():
        arrays = source.ids_of(item)
        if arrays and search is None:
            lower = choice.do_lower_case
            if lower is None:
                lower = source.description.do_lower_case
            search = WordSearch(choice.word, words, do_lower_case=lower)
        if arrays and search is not None:
            marked = {name: search.find(ids) for name, ids in arrays.items()}
            if any(marked.values()):
                yield Chosen(item, marked)
        elif not arrays:
            texts = [value for value in item.fields.values() if isinstance(value, str)]
            if any(map(pattern.search, texts)):
                yield Chosen(item, {})


_LEGEND = (
    StyledText("[MASK]", "masked"), StyledText("(cat)", "original"), " was masked, ",
    StyledText("run", "replaced"), StyledText("(cat)", "original"), " was replaced, ",
    StyledText("cat", "kept"), StyledText("(cat)", "original"),
    " was left as it is; all are to be predicted",
)  # fmt: skip
_LEGEND_OF_IDS = (
    StyledText("103", "masked"), StyledText("(4937)", "original"),
    " is token 103 in place of token 4937, which is to be predicted",
)  # fmt: skip
_OF_SETTINGS = (
    "output_format",
    "record_layout",
    "max_seq_length",
    "next_sentence",
    "masking",
    "level",
    "dtype",
    "seq_length",
    "created_by",
    "batching",
    "rows",
    "padding",
    "to predict",
    "rate",
)


def check_made_with(source: Source, words: TokenNames) -> None:
    """Refuse a vocabulary other than the one that made a source."""
    digests = words.sha256, source.description.vocab_sha256
    if None not in digests and digests[0] != digests[1]:
        raise ValueError(
            f"{words.path} is not the vocabulary that made {source.names[0]}"
            f" (sha256 {str(digests[0])[:12]}..., not {str(digests[1])[:12]}...)"
        )


def show_source(output: Terminal, source: Source, words: TokenNames) -> None:
    """Show what is known of a source, and how to read what follows."""
    description = source.description
    output.paragraph(StyledText(description.kind, "strong"), f" of {first_of(source.names)}")
    settings = [
        f"{name} {description.settings[name]}"
        for name in _OF_SETTINGS
        if description.settings.get(name) is not None
    ]
    if settings:
        output.paragraph(StyledText(", ".join(settings), "faint"))
    if not words.tokens and description.kind not in (KIND_OF_TEXTS, LEDGERS):
        vocabulary = ""
        if description.vocab_size and description.vocab_sha256:
            size = f"{description.vocab_size:,} tokens"
            vocabulary = f" (the one of {size} with sha256 {description.vocab_sha256[:12]}...)"
        output.paragraph(
            StyledText(f"Ids are shown; vocab_file=VOCABULARY shows words{vocabulary}.", "warning")
        )
    if isinstance(source, MaskedSource):
        output.paragraph(*(_LEGEND if words.tokens else _LEGEND_OF_IDS))


def show_items(
    output: Terminal, source: Source, chosen: Iterable[Chosen], words: TokenNames, max_tokens: int
) -> None:
    """Show items."""
    for item, marked in chosen:
        name = os.path.basename(item.path.rstrip("/"))
        where = f"  {name}:{item.place}" if name else ""
        output.heading(f"{source.description.unit} {item.number}", StyledText(where, "faint"))
        view = View(words=words, max_tokens=max_tokens, marked=marked)
        lines = source.lines(item, view)
        width = max((len(label) for label, _ in lines), default=0)
        for label, text in lines:
            output.labelled(label.ljust(width), text)


def rows_of(
    source: Source, chosen: Iterable[Chosen], words: TokenNames
) -> Iterator[dict[str, Any]]:
    """Yield items as values of JSON, with null for NaN and infinite numbers."""
    for item, _ in chosen:
        row = {source.description.unit: item.number, "file": item.path, "place": item.place}
        yield finite({**row, **source.row(item, words)})
