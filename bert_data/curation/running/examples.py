"""Examples of what each rule rejects and keeps, a few per rule, whatever the size of the corpus.

    {"min_words": {"closest": [49 words, 48 words], "drawn": [7 words], "kept": [50 words]}}

"closest" are rejected documents with values next to the threshold, "drawn" any rejected ones, and
"kept" those that passed most narrowly. The choice depends on values and ids alone, so it is the
same for any division into shards.
"""

import math
from collections.abc import Iterator
from typing import Any

import xxhash

from bert_data.curation.document import Document
from bert_data.curation.verdict import Measured, is_number

Examples = dict[str, dict[str, list[list[Any]]]]
"""By rule and kind, best first: order, draw, id, value, threshold, start of the text."""

CLOSEST, DRAWN, KEPT = "closest", "drawn", "kept"
_MAX_EXAMPLES = 3
_MAX_CHARACTERS = 400


def add_example(
    examples: Examples, document: Document, measured: tuple[Measured, ...], *, kept: bool
) -> None:
    """Add a document to the examples of the rules that measured it, if it is a better one."""
    place = xxhash.xxh3_64_intdigest(document.id.encode(errors="surrogatepass")) / 2**64
    for each in measured:
        if each.failed == kept:  # another rule rejected it
            continue
        distance = 0.0
        if is_number(each.value) and is_number(each.threshold):
            distance = abs(float(each.value) - float(each.threshold))
        elif kept:
            continue
        if not math.isfinite(distance):
            continue
        for kind, order in ((KEPT, distance),) if kept else ((CLOSEST, distance), (DRAWN, place)):
            entries = examples.setdefault(each.rule, {}).setdefault(kind, [])
            if len(entries) < _MAX_EXAMPLES or [order, place] < entries[-1][:2]:
                excerpt = document.text[:_MAX_CHARACTERS]
                entries.append([order, place, document.id, each.value, each.threshold, excerpt])
                _keep_best(entries)


def _keep_best(entries: list[list[Any]]) -> None:
    entries.sort(key=lambda entry: entry[:3])
    del entries[_MAX_EXAMPLES:]


def merge_examples(examples: Examples, others: Examples) -> None:
    """Merge the examples of another shard into those of the shards before it."""
    for rule, kinds in others.items():
        for kind, entries in kinds.items():
            merged = examples.setdefault(rule, {}).setdefault(kind, [])
            merged += entries
            _keep_best(merged)


def list_examples(examples: Examples) -> Iterator[tuple[str, bool, str, Any, Any, str]]:
    """Yield (rule, kept, id, value, threshold, start of the text), each document once per rule."""
    for rule, kinds in sorted(examples.items()):
        rejected = {entry[2]: entry for kind in (CLOSEST, DRAWN) for entry in kinds.get(kind, ())}
        for entry in rejected.values():
            yield rule, False, *entry[2:]
        for entry in kinds.get(KEPT, ()):
            yield rule, True, *entry[2:]
