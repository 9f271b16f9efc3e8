"""Local paths and URIs; local files whose errors name them; hidden names of what is unfinished.

    "s3://bucket/text/a.txt"                  split_uri -> root "s3://bucket", key "text/a.txt"

    .bert_data-n7-1c9e21-89abcdef01234567     what will be a set of outputs, and what spills to disk
    .a.n7-1c9e21-89abcdef01234567.writing     what will be a, as a single file
    .a.lock                                   the lock of the run that makes a

A token, of host and random digits, makes a run's names unique, even if hosts share the folder.
"""

import contextlib
import dataclasses
import hashlib
import io
import itertools
import os
import re
import secrets
import shutil
import weakref
from collections.abc import Callable, Sequence
from typing import IO, Any, cast

_URI = re.compile(
    r"(?P<root>(?P<scheme>[a-z][a-z0-9+.-]*)://[^/?]*)/?(?P<key>.*?)(?P<options>\?\w+=.*)?",
    re.DOTALL,
)

Path = str | os.PathLike[str]
"""A local path, or a URI as a string."""


@dataclasses.dataclass(frozen=True)
class Uri:
    """The parts of a URI: "s3://bucket/a/b?region=us-east-1".

    Attributes:
      root: "s3://bucket".
      key: "a/b".
      options: "?region=us-east-1", or "".
    """

    scheme: str
    root: str
    key: str
    options: str


def is_remote(path: Path) -> bool:
    """Whether a path is a URI, `file://` included."""
    return "://" in os.fspath(path)


def split_uri(path: Path) -> Uri | None:
    """Return the parts of a URI; None for what is not one."""
    match = _URI.fullmatch(os.fspath(path))
    if match is None:
        return None
    return Uri(match["scheme"], match["root"], match["key"], match["options"] or "")


def local_path(path: Path) -> str | None:
    """Return the local path of a local file or a `file://` URI; None for other URIs."""
    if not is_remote(path):
        return os.fspath(path)
    uri = split_uri(path)
    return f"/{uri.key}" if uri is not None and uri.root == "file://" else None


def absolute_path(path: Path) -> str:
    """Return the absolute path of a local path; URIs stay as they are."""
    return os.fspath(path) if is_remote(path) else os.path.abspath(path)


def refuse_tilde(folder: Path) -> None:
    """Refuse to make a local folder `~` where the home folder is meant.

    Raises:
      ValueError: it is part of the path, and does not exist.
    """
    before, tilde, _ = f"{absolute_path(folder)}/".partition("/~/")
    if tilde and not os.path.lexists(f"{before}/~"):
        raise ValueError(
            f"there is no folder {before}/~; write out the home folder, which shells put in place"
            " of ~ at the beginning of a word, not behind `=`"
        )


def common_folder(paths: Sequence[Path]) -> str:
    """Return the innermost folder that holds all files: "/data/web", "s3://bucket/web"."""
    folders = [absolute_path(path).split("/")[:-1] for path in paths]
    first, last = min(folders), max(folders)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "/".join(part for part, _ in same)


def split_root(path: str) -> tuple[str, str]:
    """Split off the part that cannot have a pattern: "s3://bucket/", "a/*.txt"."""
    if not is_remote(path):
        rest = path.lstrip("/")
        return path[: len(path) - len(rest)], rest
    uri = split_uri(path)
    return (f"{uri.root}/", uri.key) if uri else (path, "")


class _NamedFile(io.FileIO):
    def __init__(self, path: Path, mode: str, name: Path) -> None:
        self._name = os.fspath(name)
        self._named(super().__init__, path, mode)

    def _named(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except OSError as error:
            error.filename = self._name
            raise

    def write(self, data: Any) -> int:
        return int(self._named(super().write, data))

    def read(self, size: int | None = -1) -> Any:
        return self._named(super().read, size)

    def readall(self) -> Any:
        return self._named(super().readall)

    def readinto(self, buffer: Any) -> Any:
        return self._named(super().readinto, buffer)


def open_scratch(
    path: Path, mode: str = "wb", *, name: Path | None = None, buffering: int = -1
) -> IO[bytes]:
    """Open a local file, in binary mode; the errors of opening, reading and writing name it.

    Args:
      name: the caller's name for the file, if it differs.
      buffering: bytes of the buffer; 0: none, to read; -1: as `open`.
    """
    raw = _NamedFile(path, mode, path if name is None else name)
    size = buffering if buffering > 0 else io.DEFAULT_BUFFER_SIZE
    if mode == "rb":
        return cast(IO[bytes], raw) if buffering == 0 else io.BufferedReader(raw, size)
    return io.BufferedRandom(raw, size) if "+" in mode else io.BufferedWriter(raw, size)


_HOST_CHARACTERS, _HOST_DIGITS = 9, 6
_TOKEN = re.compile(r"([A-Za-z0-9-]{1,16})-[0-9a-f]{16}")
_WRITING = re.compile(rf"\..*\.(?P<token>{_TOKEN.pattern})\.writing", re.DOTALL)
_UNFINISHED = re.compile(rf"\..*\.(lock|writing)|\.bert_data-{_TOKEN.pattern}", re.DOTALL)


def name_host() -> str:
    """Return a name of at most 16 characters for this host.

    It has a digest, as long names of the hosts of a cluster differ only at their ends, and of the
    machine's number, too, as some clusters give all hosts one name.
    """
    name, number = os.uname().nodename, b""
    with contextlib.suppress(OSError), open("/etc/machine-id", "rb") as file:
        number = file.read()
    digest = hashlib.sha256(name.encode(errors="replace") + b" " + number).hexdigest()
    return f"{re.sub('[^A-Za-z0-9]', '-', name)[:_HOST_CHARACTERS]}-{digest[:_HOST_DIGITS]}"


HOST = name_host()


def new_token() -> str:
    """Return a unique token."""
    return f"{HOST}-{secrets.token_hex(8)}"


def is_token(value: object) -> bool:
    """Whether a value is a token, of any host."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def is_of_this_host(token: str) -> bool:
    """Whether a token was made on this host, which can tell whether its run is alive."""
    return token.rpartition("-")[0] == HOST


def token_of(name: str) -> str | None:
    """Return the token in a name from `writing_path`, or None for any other name."""
    match = _WRITING.fullmatch(name)
    return match["token"] if match else None


def is_unfinished(name: str) -> bool:
    """Whether a name is one that this module makes."""
    return _UNFINISHED.fullmatch(name) is not None


LONGEST_NAME = 200
"""Most bytes in the name of an output; names of files have at most 255."""


def hidden_path(path: Path, ending: str) -> str:
    """Return the path `.NAME.ENDING` beside a file."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{ending}")


def hidden_work_folder(path: Path, ending: str, *, is_shared: bool = False) -> str:
    """Return the path for the lock, or the unfinished work, of an output.

    It is beside a local output, and among the temporary files for a remote one, unless other
    machines share it.

    Raises:
      ValueError: the name of the output is so long that there is none for the files beside it.
    """
    size = len(os.fsencode(os.path.basename(os.fspath(path))))
    if size > LONGEST_NAME:
        raise ValueError(
            f"output {os.fspath(path)!r} has a name of {size} bytes; {LONGEST_NAME} are allowed, as"
            " the files beside it have longer names"
        )
    if is_shared or not is_remote(path):
        return hidden_path(path, ending)
    import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

    user_and_path = f"{os.geteuid()} {os.fspath(path)}"
    digest = hashlib.sha256(user_and_path.encode(errors="replace")).hexdigest()[:8]
    name = os.path.basename(os.fspath(path).partition("?")[0])
    return hidden_path(os.path.join(tempfile.gettempdir(), f"{name}-{digest}"), ending)


def writing_path(path: Path, token: str) -> str:
    """Return where a run writes a single file or folder before it gets its final name."""
    return hidden_path(path, f"{token}.writing")


def work_folder(parent: str, token: str) -> str:
    """Return where in a folder a run makes a set of outputs, and spills to disk."""
    return os.path.join(parent, f".bert_data-{token}")


def temporary_folder(owner: object) -> str:
    """Make a folder among the system's temporary files, which is removed with an object."""
    import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

    path = tempfile.mkdtemp(prefix="bert_data-")
    weakref.finalize(owner, shutil.rmtree, path, ignore_errors=True)
    return path
