"""Chooses what runs the tokenizer of a file: the fastest library that is known to be exact for it.

    definition of GPT-2            -> fastokens 0.3.5
    the same, without the extra    -> tokenizers 0.23.3, "fastokens is not installed"
    --tokenizer_backend=tokenizers -> tokenizers 0.23.3, "chosen by hand"

Whatever is chosen encodes some thousand texts when a file is loaded for the first time. If an id
differs from those of `tokenizers`, then `tokenizers` runs the file after all, and a warning shows
the text. That takes longer than to tokenize a small corpus, so the verdict is kept in the user's
cache folder, by the digest of the JSON and the versions of the libraries and of this code. As for
machine code, only files are trusted that nobody but this user or root can have written; see
`kernels.keeping`.
"""

import dataclasses
import functools
import hashlib
import importlib
import json
import os
import pkgutil
from importlib import metadata

from absl import logging

from bert_data import tokens
from bert_data.kernels.keeping import CACHE_DIR_VARIABLE, read_trusted, user_cache, write_trusted
from bert_data.tokens.backends import AUTO, EXTRA, FASTER, SENTENCEPIECE, TOKENIZERS
from bert_data.tokens.backends.backend import Backend, FasterBackend, UnsupportedError
from bert_data.tokens.backends.probing import differing_text
from bert_data.tokens.backends.reference import DefinitionFile
from bert_data.tokens.tokenizer_json import all_ids, find_special_tokens

_SHOWN_CHARACTERS = 60
_FASTEST, _BY_HAND = "the fastest exact one", "chosen by hand"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class BackendChoice:
    """The choice of the program that runs the tokenizer of a file.

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
        """Name and version, such as "fastokens 0.3.5"."""
        return self.name if self.backend is None else f"{self.name} {metadata.version(self.name)}"


def open_backend(name: str, file: DefinitionFile) -> Backend:
    """Open a backend of a tokenizer.json, without a test; UnsupportedError if it cannot run it."""
    return file.reference if name == TOKENIZERS else _faster_class(name)(file.definition)


def _faster_class(name: str) -> type[FasterBackend]:
    runner: type[FasterBackend] = importlib.import_module(f"{__package__}.{name}").Runner
    return runner


def choose_backend(file: DefinitionFile, requested: str = AUTO) -> BackendChoice:
    """Choose what runs a tokenizer.json: as requested, or by AUTO."""
    if requested not in (AUTO, TOKENIZERS, *FASTER):
        what = "a .model file" if requested == SENTENCEPIECE else "WordPiece with BERT's rules"
        raise ValueError(f"`tokenizer_backend={requested}` needs {what}; {file.path} is not")
    verdict = find_verdict(file.json_sha256, requested)
    if verdict is not None:
        name, reason = verdict
        return BackendChoice(name=name, backend=open_backend(name, file), reason=reason)
    reference = file.reference  # an error, if it cannot be read
    if requested == TOKENIZERS:
        return BackendChoice(name=TOKENIZERS, backend=reference, reason=_BY_HAND)
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
                    _keep_verdict(file.json_sha256, requested, name, _FASTEST)
                    return BackendChoice(name=name, backend=backend, reason=_FASTEST)
                is_final = False  # the warning is repeated
        reasons.append(f"{name} {reason}")
    why = "; ".join(reasons)
    if is_final:
        _keep_verdict(file.json_sha256, requested, TOKENIZERS, why)
    return BackendChoice(name=TOKENIZERS, backend=reference, reason=why)


def _choose_by_hand(file: DefinitionFile, requested: str) -> BackendChoice:
    try:
        backend = open_backend(requested, file)
    except UnsupportedError as error:
        raise ValueError(
            f"`tokenizer_backend={requested}` cannot run {file.path}: {error}"
        ) from None
    reason = _difference(file, requested, backend)
    if reason:
        return BackendChoice(
            name=TOKENIZERS, backend=file.reference, reason=f"{requested} {reason}"
        )
    _keep_verdict(file.json_sha256, requested, requested, _BY_HAND)
    return BackendChoice(name=requested, backend=backend, reason=_BY_HAND)


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
    in_file, of_library = file.definition, file.definition_of_library
    if find_special_tokens(in_file, ids) != find_special_tokens(of_library, ids):
        return "finds other special tokens than tokenizers"
    return ""


def find_verdict(sha256: str, requested: str) -> tuple[str, str] | None:
    """Return the backend that was chosen for a tokenizer.json and why, if that is known."""
    try:
        verdict = json.loads(read_trusted(_cache(), _verdict_name(sha256, requested)))
    except (OSError, ValueError):
        return None
    match verdict:
        case {"name": str() as name, "reason": str() as reason} if name in (*FASTER, TOKENIZERS):
            return name, reason
    return None


def _keep_verdict(sha256: str, requested: str, name: str, reason: str) -> None:
    """Keep what `find_verdict` is to return; without a folder for it, the next run tests again."""
    content = json.dumps({"name": name, "reason": reason}).encode()
    try:
        write_trusted(_cache(), _verdict_name(sha256, requested), content)
    except OSError as error:
        logging.debug("the test of a tokenizer cannot be kept: %s", error)


def _cache() -> str:
    return os.path.join(os.environ.get(CACHE_DIR_VARIABLE) or user_cache(), "tokenizers")


def _verdict_name(sha256: str, requested: str) -> str:
    key = "\n".join((sha256, requested, *_versions()))
    return f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


@functools.cache
def _versions() -> tuple[str, ...]:
    """Return the versions of the libraries, and the digest of the code that tests them."""
    versions = []
    for name in (TOKENIZERS, *FASTER):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    code = hashlib.sha256(pkgutil.get_data(tokens.__name__, "tokenizer_json.py") or b"")
    for name in ("choosing", "probing", "reference", *FASTER):
        code.update(pkgutil.get_data(__package__, f"{name}.py") or b"")
    return (*versions, code.hexdigest())
