"""Hidden names: of what is not whole yet, of locks, of work folders.

    .a.node7-89abcdef01234567.partial     what will be a, of a set of outputs
    .a.node7-89abcdef01234567.writing     what will be a, by itself
    .bert_data-node7-89abcdef01234567     what a run spills to disk
    .a.lock                               the lock of the run that makes a

A token, host and random digits, is in the names of one run, whatever hosts share the folder.
"""

import os
import re
import secrets

from bert_data.storage.paths import Path

_HOST = re.sub(r"[^A-Za-z0-9]", "-", os.uname().nodename)[:16] or "host"
_TOKEN = re.compile(r"([A-Za-z0-9-]{1,16})-[0-9a-f]{16}")
_WRITING = re.compile(rf"\..*\.(?P<token>{_TOKEN.pattern})\.writing", re.DOTALL)
_UNFINISHED = re.compile(rf"\..*\.(lock|partial|writing)|\.bert_data-{_TOKEN.pattern}", re.DOTALL)


def new_token() -> str:
    """A token that nobody else has."""
    return f"{_HOST}-{secrets.token_hex(8)}"


def is_token(value: object) -> bool:
    """Whether a value is a token, of any host."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def is_of_this_host(token: str) -> bool:
    """Whether a token was made on this host: what has it may be told dead or alive here."""
    return token.rpartition("-")[0] == _HOST


def token_of(name: str) -> str | None:
    """The token in a name that `writing_path` gives; None: the name is another."""
    match = _WRITING.fullmatch(name)
    return match["token"] if match else None


def is_unfinished(name: str) -> bool:
    """Whether a name is one of those that this module makes."""
    return _UNFINISHED.fullmatch(name) is not None


def hidden_path(path: Path, ending: str) -> str:
    """`.NAME.ENDING` beside a file."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{ending}")


def partial_path(path: str, token: str) -> str:
    """Where a run writes a file or a folder of a set before it has its final name."""
    return hidden_path(path, f"{token}.partial")


def writing_path(path: Path, token: str) -> str:
    """The same for one by itself."""
    return hidden_path(path, f"{token}.writing")


def replaced_path(path: str, token: str) -> str:
    """Where a run puts the folder that it replaces."""
    return partial_path(f"{path}.replaced", token)


def work_folder(parent: str, token: str) -> str:
    """Where a run spills to disk."""
    return os.path.join(parent, f".bert_data-{token}")
