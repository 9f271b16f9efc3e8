"""What has been found out about the file of a tokenizer, kept for the next run.

    sha256 of the JSON, versions of the libraries --> {"name": "fastokens", "reason": "..."}

Finding out loads the file three times and encodes some thousand texts, which takes longer than to
tokenize a small corpus. Verdicts lie in the user's cache folder. As for machine code, only files
are trusted that nobody but this user or root can have written; see `kernels.keeping`.
"""

import functools
import hashlib
import json
import os
import pkgutil
from importlib import metadata

from absl import logging

from bert_data import tokens
from bert_data.kernels.keeping import (
    CACHE_DIR_VARIABLE,
    read_trusted,
    user_cache,
    write_trusted,
)
from bert_data.tokens.backends import FASTER, TOKENIZERS

_USED = ("tokenizer_json", "special_tokens")  # modules of `tokens` with a part in the test


def find_verdict(sha256: str, requested: str) -> tuple[str, str] | None:
    """Return the name of the backend for a file and why it was chosen, if that is known.

    Args:
      sha256: of its tokenizer.json.
      requested: what the user chose.
    """
    try:
        verdict = json.loads(read_trusted(_folder(), _name(sha256, requested)))
    except (OSError, ValueError):
        return None
    found = (verdict.get("name"), verdict.get("reason")) if isinstance(verdict, dict) else ()
    match found:
        case (str() as name, str() as reason) if name in (*FASTER, TOKENIZERS):
            return name, reason
    return None


def keep_verdict(sha256: str, requested: str, name: str, reason: str) -> None:
    """Keep what `find_verdict` is to return; without a folder for it, the next run tests again."""
    content = json.dumps({"name": name, "reason": reason}).encode()
    try:
        write_trusted(_folder(), _name(sha256, requested), content)
    except OSError as error:
        logging.debug("the test of a tokenizer cannot be kept: %s", error)


def _folder() -> str:
    return os.path.join(os.environ.get(CACHE_DIR_VARIABLE) or user_cache(), "tokenizers")


def _name(sha256: str, requested: str) -> str:
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
    code = hashlib.sha256()
    own = ((__package__, name) for name in ("choosing", "probing", TOKENIZERS, *FASTER))
    for package, name in (*own, *((tokens.__name__, name) for name in _USED)):
        code.update(pkgutil.get_data(package, f"{name}.py") or b"")
    return (*versions, code.hexdigest())
