"""Chooses what runs the tokenizer of a file: the fastest library that is known to be exact for it.

    definition of GPT-2            -> fastokens 0.3.5
    the same, without the extra    -> tokenizers 0.23.3, "fastokens is not installed"
    --tokenizer_backend=tokenizers -> tokenizers 0.23.3, "chosen by hand"

Whatever is chosen encodes some thousand texts when a file is loaded for the first time. If an id
differs from those of `tokenizers`, then `tokenizers` runs the file after all, and a warning shows
the text. A file that has passed is known from then on (`verdicts`).
"""

import dataclasses
import importlib
from importlib import metadata

from absl import logging

from bert_data.tokens.backends import AUTO, EXTRA, FASTER, SENTENCEPIECE, TOKENIZERS
from bert_data.tokens.backends.backend import Backend, FasterBackend, UnsupportedError
from bert_data.tokens.backends.probing import differing_text
from bert_data.tokens.backends.tokenizers import DefinitionFile
from bert_data.tokens.backends.verdicts import find_verdict, keep_verdict
from bert_data.tokens.special_tokens import find_special_tokens
from bert_data.tokens.tokenizer_json import all_ids

_SHOWN_CHARACTERS = 60
_FASTEST, _BY_HAND = "the fastest exact one", "chosen by hand"


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
    return f"{name} {metadata.version(name)}"


def _faster_class(name: str) -> type[FasterBackend]:
    importlib.import_module(f"{__package__}.{name}")
    return FasterBackend.registered[name]


def open_backend(name: str, file: DefinitionFile) -> Backend:
    """Open a backend of a tokenizer.json, without a test.

    Raises:
      ValueError: its package is not installed.
      UnsupportedError: it cannot run the file.
    """
    if name == TOKENIZERS:
        return file.reference
    return _faster_class(name)(file.definition)


def choose_backend(file: DefinitionFile, requested: str = AUTO) -> Choice:
    """Choose what runs a tokenizer.json.

    Args:
      requested: one of `FASTER`, or TOKENIZERS, or AUTO.

    Raises:
      ValueError: what was chosen by hand is not installed, or cannot run the file.
    """
    if requested not in (AUTO, TOKENIZERS, *FASTER):
        what = "a .model file" if requested == SENTENCEPIECE else "WordPiece with BERT's rules"
        raise ValueError(f"`tokenizer_backend={requested}` needs {what}; {file.path} is not")
    verdict = find_verdict(file.json_sha256, requested)
    if verdict is not None:
        name, reason = verdict
        return Choice(name=name, backend=open_backend(name, file), reason=reason)
    reference = file.reference  # an error, if it cannot be read
    if requested == TOKENIZERS:
        return Choice(name=TOKENIZERS, backend=reference, reason=_BY_HAND)
    if requested != AUTO:
        return _choose_by_hand(file, requested)
    reasons, is_final = [], True
    for name in FASTER:
        reason = _faster_class(name).why_not_exact(file.definition)
        if reason:
            reason = f"is not known to be exact, as {reason}"
        elif not _is_installed(name):
            reason = f"is not installed (pip install '.[{EXTRA}]')"
        else:
            try:
                backend = open_backend(name, file)
            except ValueError as error:
                reason = f"refuses it: {error}"
            else:
                reason = _difference(file, name, backend)
                if not reason:
                    keep_verdict(file.json_sha256, requested, name, _FASTEST)
                    return Choice(name=name, backend=backend, reason=_FASTEST)
                is_final = False  # the warning is repeated
        reasons.append(f"{name} {reason}")
    why = "; ".join(reasons)
    if is_final:
        keep_verdict(file.json_sha256, requested, TOKENIZERS, why)
    return Choice(name=TOKENIZERS, backend=reference, reason=why)


def _choose_by_hand(file: DefinitionFile, requested: str) -> Choice:
    try:
        backend = open_backend(requested, file)
    except UnsupportedError as error:
        raise ValueError(
            f"`tokenizer_backend={requested}` cannot run {file.path}: {error}"
        ) from None
    reason = _difference(file, requested, backend)
    if reason:
        return Choice(name=TOKENIZERS, backend=file.reference, reason=f"{requested} {reason}")
    keep_verdict(file.json_sha256, requested, requested, _BY_HAND)
    return Choice(name=requested, backend=backend, reason=_BY_HAND)


def _is_installed(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _difference(file: DefinitionFile, name: str, backend: Backend) -> str:
    """Return how a backend differs from `tokenizers`, with a warning, or ""."""
    text = None
    try:
        text = differing_text(backend, file.reference, file.definition)
    except ValueError as error:
        reason = f"fails: {error}"
    else:
        reason = "has other ids than tokenizers" if text is not None else _misread(file)
    if reason:
        shown = "" if text is None else f" for the text {text[:_SHOWN_CHARACTERS]!r}"
        logging.warning("%s: %s %s%s; tokenizers runs it instead", file.path, name, reason, shown)
    return reason


def _misread(file: DefinitionFile) -> str:
    """Return what `tokenizers` reads in another way than the file says it, or ""."""
    ids = file.reference.library.get_vocab(with_added_tokens=True)
    if all_ids(file.definition) != ids:
        return "has other ids than tokenizers, which numbers added tokens anew"
    of_both = (
        find_special_tokens(each, ids) for each in (file.definition, file.definition_of_library)
    )
    return "" if next(of_both) == next(of_both) else "finds other special tokens than tokenizers"
