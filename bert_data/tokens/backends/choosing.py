"""Chooses what runs the tokenizer of a file: the fastest library that is known to be exact for it.

    definition of GPT-2            -> fastokens 0.3.5
    the same, without the extra    -> tokenizers 0.23.3, "fastokens is not installed"
    --tokenizer_backend=tokenizers -> tokenizers 0.23.3, "chosen by hand"

Whatever is chosen encodes some hundred texts as it is loaded. If an id differs from those of
`tokenizers`, then `tokenizers` runs the file after all, and a warning shows the text.
"""

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

from absl import logging

from bert_data.tokens.backends import rules
from bert_data.tokens.backends.backend import Backend, UnsupportedError
from bert_data.tokens.backends.fastokens import FastokensBackend
from bert_data.tokens.backends.gigatoken import GigatokenBackend
from bert_data.tokens.backends.names import (
    AUTO,
    EXTRA,
    FASTOKENS,
    GIGATOKEN,
    SENTENCEPIECE,
    TOKENIZERS,
)
from bert_data.tokens.backends.probing import differing_text
from bert_data.tokens.backends.tokenizers import TokenizersBackend

_SHOWN_CHARACTERS = 60


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Faster:
    """A backend faster than `tokenizers`: how to open it, and why it is not exact for a file.

    Both take a tokenizer.json in its current form, as `tokenizers` writes it. Opening raises
    ValueError if the package is not installed, and UnsupportedError if it cannot run the file.
    """

    open: Callable[[dict[str, Any]], Backend]
    not_exact: Callable[[dict[str, Any]], str]


_FASTER = {
    FASTOKENS: _Faster(open=FastokensBackend, not_exact=rules.not_fastokens),
    GIGATOKEN: _Faster(open=GigatokenBackend, not_exact=rules.not_gigatoken),
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """What runs the tokenizer of a file.

    Attributes:
      name: one of `NAMES`.
      backend: None for our own WordPiece.
      reason: why it runs, or why no faster one does.
    """

    name: str
    backend: Backend | None
    reason: str

    @property
    def version(self) -> str:
        """Name and version."""
        return self.name if self.backend is None else describe(self.name)


def describe(name: str) -> str:
    """Return the name and version of a library, such as "fastokens 0.3.5"."""
    from importlib import metadata

    return f"{name} {metadata.version(name)}"


def open_backend(name: str, reference: TokenizersBackend) -> Backend:
    """Open a backend of a tokenizer.json that `tokenizers` has loaded, without a test.

    Raises:
      ValueError: its package is not installed.
      UnsupportedError: it cannot run the file.
    """
    if name == TOKENIZERS:
        return reference
    return _FASTER[name].open(reference.definition)


def choose_backend(path: str, reference: TokenizersBackend, requested: str = AUTO) -> Choice:
    """Choose what runs a tokenizer.json.

    Args:
      reference: the file, loaded by `tokenizers`.
      requested: a name of `_FASTER`, or TOKENIZERS, or AUTO.

    Raises:
      ValueError: what was chosen by hand is not installed, or cannot run the file.
    """
    if requested == TOKENIZERS:
        return Choice(name=TOKENIZERS, backend=reference, reason="chosen by hand")
    definition = reference.definition
    if requested != AUTO:
        return _choose_by_hand(path, reference, definition, requested)
    reasons = []
    for name, faster in _FASTER.items():
        reason = faster.not_exact(definition)
        if not reason and not _is_installed(name):
            reason = f"is not installed (pip install 'bert_data[{EXTRA}]')"
        elif not reason:
            try:
                backend = faster.open(definition)
            except ValueError as error:
                reason = f"refuses it: {error}"
            else:
                reason = _difference(path, name, backend, reference)
                if not reason:
                    return Choice(name=name, backend=backend, reason="the fastest exact one")
        else:
            reason = f"is not known to be exact, as {reason}"
        reasons.append(f"{name} {reason}")
    return Choice(name=TOKENIZERS, backend=reference, reason="; ".join(reasons))


def _choose_by_hand(
    path: str, reference: TokenizersBackend, definition: dict[str, Any], requested: str
) -> Choice:
    if requested not in _FASTER:
        what = "a .model file" if requested == SENTENCEPIECE else "WordPiece with BERT's rules"
        raise ValueError(f"--tokenizer_backend={requested} needs {what}; {path} is not")
    try:
        backend = _FASTER[requested].open(definition)
    except UnsupportedError as error:
        raise ValueError(f"--tokenizer_backend={requested} cannot run {path}: {error}") from None
    reason = _difference(path, requested, backend, reference)
    if reason:
        return Choice(name=TOKENIZERS, backend=reference, reason=f"{requested} {reason}")
    return Choice(name=requested, backend=backend, reason="chosen by hand")


def _is_installed(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _difference(path: str, name: str, backend: Backend, reference: TokenizersBackend) -> str:
    """Return how a backend differs from `tokenizers`, with a warning, or ""."""
    added = [token.content for token in reference.library.get_added_tokens_decoder().values()]
    try:
        text = differing_text(backend, reference, added)
    except ValueError as error:
        text = None
        reason = f"fails: {error}"
    else:
        reason = "has other ids than tokenizers" if text is not None else ""
    if reason:
        shown = "" if text is None else f" for the text {text[:_SHOWN_CHARACTERS]!r}"
        logging.warning("%s: %s %s%s; tokenizers runs it instead", path, name, reason, shown)
    return reason
