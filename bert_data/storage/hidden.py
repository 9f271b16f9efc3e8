"""Hidden names of unfinished files, locks and work folders.

    .a.n7-1c9e21-89abcdef01234567.partial     what will be a, in a set of outputs
    .a.n7-1c9e21-89abcdef01234567.writing     what will be a, as a single file
    .bert_data-n7-1c9e21-89abcdef01234567     what a run spills to disk
    .a.lock                                   the lock of the run that makes a

A token, of host and random digits, makes a run's names unique, even if hosts share the folder.
"""

import contextlib
import hashlib
import os
import re
import secrets

from bert_data.storage.paths import Path, is_remote

_HOST_CHARACTERS, _HOST_DIGITS = 9, 6
_TOKEN = re.compile(r"([A-Za-z0-9-]{1,16})-[0-9a-f]{16}")
_WRITING = re.compile(rf"\..*\.(?P<token>{_TOKEN.pattern})\.writing", re.DOTALL)
_WRITING_IN_TEXT = re.compile(rf"\.([^/]*)\.{_TOKEN.pattern}\.writing")
_UNFINISHED = re.compile(rf"\..*\.(lock|partial|writing)|\.bert_data-{_TOKEN.pattern}", re.DOTALL)


def _name_host() -> str:
    """Return a name of at most 16 characters for this host.

    It has a digest, as long names of the hosts of a cluster differ only at their ends, and of the
    machine's number, too, as some clusters give all hosts one name.
    """
    name, number = os.uname().nodename, b""
    with contextlib.suppress(OSError), open("/etc/machine-id", "rb") as file:
        number = file.read()
    digest = hashlib.sha256(name.encode(errors="replace") + b" " + number).hexdigest()
    return f"{re.sub('[^A-Za-z0-9]', '-', name)[:_HOST_CHARACTERS]}-{digest[:_HOST_DIGITS]}"


_HOST = _name_host()


def new_token() -> str:
    """Return a unique token."""
    return f"{_HOST}-{secrets.token_hex(8)}"


def is_token(value: object) -> bool:
    """Whether a value is a token, of any host."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def is_of_this_host(token: str) -> bool:
    """Whether a token was made on this host, which can tell whether its run is alive."""
    return token.rpartition("-")[0] == _HOST


def token_of(name: str) -> str | None:
    """Return the token in a name from `writing_path`, or None for any other name."""
    match = _WRITING.fullmatch(name)
    return match["token"] if match else None


def without_tokens(text: str) -> str:
    """Return a text in which names from `writing_path` are those that the files will get."""
    return _WRITING_IN_TEXT.sub(r"\1", text)


def is_unfinished(name: str) -> bool:
    """Whether a name is one that this module makes."""
    return _UNFINISHED.fullmatch(name) is not None


def hidden_path(path: Path, ending: str) -> str:
    """Return the path `.NAME.ENDING` beside a file."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{ending}")


def own_work_folder(path: Path, ending: str, *, is_shared: bool = False) -> str:
    """Return the path for the lock, or the unfinished work, of an output.

    It is hidden beside a local output, and among the temporary files for a remote one, unless other
    machines share it.
    """
    if is_shared or not is_remote(path):
        return hidden_path(path, ending)
    import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

    user_and_path = f"{os.geteuid()} {os.fspath(path)}"
    digest = hashlib.sha256(user_and_path.encode(errors="replace")).hexdigest()[:8]
    name = os.path.basename(os.fspath(path).partition("?")[0])
    return hidden_path(os.path.join(tempfile.gettempdir(), f"{name}-{digest}"), ending)


def partial_path(path: str, token: str) -> str:
    """Return where a run writes a file or folder of a set before it gets its final name."""
    return hidden_path(path, f"{token}.partial")


def writing_path(path: Path, token: str) -> str:
    """Return where a run writes a single file or folder before it gets its final name."""
    return hidden_path(path, f"{token}.writing")


def replaced_path(path: str, token: str) -> str:
    """Return where a run puts a folder that it replaces."""
    return partial_path(f"{path}.replaced", token)


def work_folder(parent: str, token: str) -> str:
    """Return where a run spills to disk."""
    return os.path.join(parent, f".bert_data-{token}")
