"""A vocabulary of few words, instances of them, and what is shown of a source."""

import io
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bert_data.inspection.configs import Choice, SourceConfig
from bert_data.inspection.readable_ids import load_words
from bert_data.inspection.showing import choose, show_items, show_source
from bert_data.inspection.sources.items import Item, Source
from bert_data.inspection.sources.opening import open_source
from bert_data.inspection.terminal import Terminal
from tests.reader.making import Instance

TOKENS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", ".", "it",
    "was", "un", "##believ", "##able", "dog", "ran", "home",
]  # fmt: skip


def ids(text: str) -> tuple[int, ...]:
    """The ids of tokens that are separated by spaces."""
    return tuple(TOKENS.index(token) for token in text.split())


def instance(a: str, b: str = "", *, is_random: int = 0) -> Instance:
    """An instance of tokens; "now=was" is one to predict."""
    tokens, positions, labels, segments = [], [], [], []
    for segment, text in enumerate((a, b)):
        for token in text.split():
            now, _, was = token.partition("=")
            if was:
                positions.append(len(tokens))
                labels += ids(was)
            tokens += ids(now)
            segments.append(segment)
    return Instance(tuple(tokens), tuple(segments), tuple(positions), tuple(labels), is_random)


def write_vocabulary(folder: Path) -> Path:
    path = folder / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in TOKENS))
    return path


def open_path(path: Path | str, **options) -> Source:
    return open_source(SourceConfig(input_file=str(path), **options))


def look(
    path: Path | str, vocabulary: Path | None = None, *, max_tokens: int = 1000, **options
) -> str:
    """All that is shown, without the lines about the whole; options are those of `Choice`."""
    source = options.pop("source", None) or open_path(path)
    words = load_words(None if vocabulary is None else str(vocabulary))
    file = io.StringIO()
    show_items(Terminal(file), source, choose(source, Choice(**options), words), words, max_tokens)
    return file.getvalue()


def contents(items: Iterable[Item]) -> list[dict[str, Any]]:
    """The fields of items as plain values with their types, to compare."""
    arrays = [{name: np.asarray(value) for name, value in each.fields.items()} for each in items]
    return [{k: (str(v.dtype), v.tolist()) for k, v in fields.items()} for fields in arrays]


def header(source: Source, vocabulary: Path | None = None) -> str:
    """The overview that is shown."""
    file = io.StringIO()
    show_source(Terminal(file), source, load_words(str(vocabulary) if vocabulary else None))
    return file.getvalue()


def page(text: str) -> str:
    """A text of a test without the indentation that its lines have in common."""
    return textwrap.dedent(text).strip("\n") + "\n"
