"""Hadoop's file system: pyarrow's client, which is libhdfs and Java, with errors that can be told.

    resolve("hdfs://namenode:8020/text/a.txt?replication=2") -> HadoopFiles, "/text/a.txt"

pyarrow takes any error of a status for "no such file", such as that of a namenode that does not
answer; removing what is not there is an error of no kind; a file moved to a folder's name goes into
the folder; and libhdfs writes the reasons of errors to standard error only, with Java's stack.
"""

import contextlib
import ctypes
import dataclasses
import errno
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, cast

from bert_data.storage.file_systems import Scheme
from bert_data.storage.paths import Uri, without_tokens

if TYPE_CHECKING:
    from pyarrow import fs

_OPTIONS = ("user", "replication", "buffer_size", "default_block_size", "kerb_ticket")
_NUMBERS = ("replication", "buffer_size", "default_block_size")
_AUTHORITY = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<host>.*?)(?::(?P<port>\d+))?")
_JAVA_OPTIONS = "LIBHDFS_OPTS"
_NO_SIGNALS = "-Xrs"  # else Java ends the process at Ctrl-C, before Python can remove anything
_SETTINGS = (
    "; hdfs:// needs ARROW_LIBHDFS_DIR, the folder of libhdfs.so ($HADOOP_HOME/lib/native),"
    " JAVA_HOME, and CLASSPATH, what `hadoop classpath --glob` prints"
)
_FORKED = (
    "hdfs:// cannot be used in a process that was forked from one that has used it, as Java's"
    " threads are not in it; start processes by spawn"
)
_UNKNOWN = 255  # libhdfs's number for most of Java's exceptions
# What libhdfs writes: a header, from version 3 on the root cause, and the stack, which names the
# exception again: "NAME: MESSAGE" and "PACKAGE.NAME: MESSAGE", without a line feed between them.
_SAID = re.compile(
    r" error:\n(?:[a-z]\w*\.)*(?P<name>[A-Z][\w$]*)(?:\([\w.$]*\))?(?:: (?P<message>.*))?"
)
_NAME_ONLY = re.compile(
    r"\(unable to get (?:stack trace|root cause) for (?:[\w$]+\.)*(?P<name>\w+)"
)
_STACK = re.compile(r"(?<=[^\s(])(?:javax?|org|com|sun)\.[\w.$]+(?:Exception|Error)\b.*")
_OPERATION = re.compile(r"^\[Errno \d+\] |\. Detail: .*")
_MAX_CHARACTERS = 300
_MOVES = 10  # as another process may remove the target, or rename to it, at the same moment
_ELSEWHERE = re.compile(r"; For more details see:.*")
_KINDS: tuple[tuple[str, int, str], ...] = (
    ("safe mode|SafeMode", errno.EROFS, "the namenode is in safe mode, and changes nothing"),
    ("quota|QuotaExceeded", errno.EDQUOT, "a quota is exceeded"),
    (
        "ConnectException|UnknownHost|NoRouteToHost|SocketTimeout|ConnectTimeout|EOFException"
        "|Connection re(?:fused|set)|StandbyException",
        errno.ECONNREFUSED,
        "the cluster cannot be reached",
    ),
    (
        "BlockMissing|Could not obtain block|could only be (?:replicated|written)"
        "|datanodes? .*(?:are bad|is bad)|Unable to (?:create new block|close file)",
        errno.EIO,
        "no datanode could read or write the data",
    ),
)
_users: "weakref.WeakSet[object]" = weakref.WeakSet()  # of Java, which their ends call
_is_forked = False


class Hadoop(Scheme):
    """Hadoop."""

    explains_errors = True

    def open(self, uri: Uri, server: str) -> "tuple[fs.FileSystem, str]":
        """Return the file system of a namenode."""
        return cast("fs.FileSystem", open_hadoop(uri.root, uri.options)), "/"

    def place(self, uri: Uri) -> str:
        """Return the namenode, a host whose name has no capitals, and the key."""
        return super().place(dataclasses.replace(uri, root=uri.root.lower()))


def open_hadoop(root: str, options: str) -> "HadoopFiles":
    """Return the file system of a namenode.

    Args:
      root: of URIs: "hdfs://HOST:PORT"; without a host: that of core-site.xml.
      options: "?user=a&replication=2", or "".
    """
    from urllib.parse import parse_qsl  # not at the top: local files need neither

    from pyarrow import fs

    scheme, _, authority = root.partition("://")
    match = _AUTHORITY.fullmatch(authority)
    assert match is not None
    arguments: dict[str, Any] = dict(parse_qsl(options.removeprefix("?"), keep_blank_values=True))
    for name, value in arguments.items():
        if name not in _OPTIONS:
            raise ValueError(f"{root}: option {name!r} must be one of {', '.join(_OPTIONS)}")
        if name in _NUMBERS and not value.isdecimal():
            raise ValueError(f"{root}: option {name!r} is {value!r}; it must be a number")
    arguments |= {name: int(arguments[name]) for name in _NUMBERS if name in arguments}
    arguments.setdefault("replication", 0)  # that of hdfs-site.xml; pyarrow's own default is 3
    if match["user"]:
        arguments.setdefault("user", match["user"])
    host = f"{scheme}://{match['host'] or '/'}"  # hdfs:/// is Hadoop's name for the default
    if not os.environ.get("CLASSPATH"):
        raise OSError(errno.EIO, f"CLASSPATH is not set{_SETTINGS}")
    java_options = os.environ.get(_JAVA_OPTIONS, "")
    if _NO_SIGNALS not in java_options.split():
        os.environ[_JAVA_OPTIONS] = f"{java_options} {_NO_SIGNALS}".lstrip()
    with _explained():
        return HadoopFiles(fs.HadoopFileSystem(host, int(match["port"] or 0), **arguments))


class HadoopFiles:
    """The methods of `pyarrow.fs.FileSystem` that storage uses."""

    def __init__(self, system: Any) -> None:
        self._system = system
        _users.add(self)

    def get_file_info(self, what: "str | fs.FileSelector") -> Any:
        """Return the status of a path, or those of what is in a folder."""
        with _explained():
            return self._status(what) if isinstance(what, str) else self._list(what)

    def open_input_file(self, key: str) -> "_HadoopStream":
        """Open a file for reading."""
        from pyarrow import fs

        with _explained():
            kind = self._status(key).type
            if kind == fs.FileType.NotFound:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if kind == fs.FileType.Directory:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            return _HadoopStream(self._system.open_input_file(key))

    def open_output_stream(self, key: str, compression: None = None) -> "_HadoopStream":
        """Open a file for writing; it is visible at once."""
        with _explained():
            return _HadoopStream(self._system.open_output_stream(key, compression=compression))

    def create_dir(self, key: str) -> None:
        """Make a folder and its parents, if they do not exist."""
        with _explained():
            self._system.create_dir(key)

    def delete_file(self, key: str) -> None:
        """Remove a file."""
        from pyarrow import fs

        with _explained():
            try:
                self._system.delete_file(key)
            except OSError:
                if self._status(key).type == fs.FileType.NotFound:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from None
                raise

    def delete_dir(self, key: str) -> None:
        """Remove a folder and all that is in it."""
        with _explained():
            self._system.delete_dir(key)

    def move(self, source: str, target: str) -> None:
        """Rename a file. One of the new name is removed just before, as Hadoop replaces none."""
        from pyarrow import fs

        with _explained():
            for left in reversed(range(_MOVES)):
                if self._status(target).type == fs.FileType.Directory:
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                try:
                    self._system.move(source, target)
                    return
                except OSError as error:
                    if not left or error.errno != errno.EIO:
                        raise

    def _status(self, key: str) -> Any:
        """Return the status of a path; what is said to be missing is asked for again, as a list."""
        from pyarrow import fs

        info = self._system.get_file_info(key)
        if info.type != fs.FileType.NotFound:
            return info
        try:
            self._system.get_file_info(fs.FileSelector(key))
        except (FileNotFoundError, NotADirectoryError):
            return info
        except OSError as error:
            if error.errno is not None:  # without, it is a file, of this moment
                raise
        return self._system.get_file_info(key)

    def _list(self, selector: "fs.FileSelector") -> Any:
        from pyarrow import fs

        try:
            return self._system.get_file_info(
                fs.FileSelector(selector.base_dir, recursive=selector.recursive)
            )
        except (FileNotFoundError, NotADirectoryError):
            if selector.allow_not_found:
                return []
            raise
        except OSError as error:
            if error.errno is None:  # pyarrow's own: it is a file
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
            raise


class _HadoopStream:
    """A file of Hadoop's, open for reading or for writing."""

    def __init__(self, file: Any) -> None:
        self._file = file
        _users.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def size(self) -> int:
        return int(self._file.size())

    def metadata(self) -> dict[str, str]:
        return {}

    def read_at(self, size: int, offset: int) -> bytes:
        with _explained():
            return bytes(self._file.read_at(size, offset))

    def write(self, data: bytes) -> None:
        with _explained():
            self._file.write(data)

    def close(self) -> None:
        with _explained():
            self._file.close()


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Give errors a number and a sentence, from what libhdfs writes."""
    if _is_forked:
        raise OSError(errno.EIO, _FORKED)
    with heard() as said:
        try:
            yield
        except OSError as error:
            raise explain(error, said()) from error


def explain(error: OSError, said: str) -> OSError:
    """Return an error with a number and a sentence, from what libhdfs has said."""
    text = " ".join(str(error).split())
    if match := re.match(r"Unable to load (\w+)", text):
        return OSError(errno.EIO, f"{match[1]}.so cannot be loaded{_SETTINGS}")
    if "Prior attempt to load libhdfs" in text:
        return OSError(errno.EIO, f"Hadoop's client cannot be loaded{_SETTINGS}")
    if isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
        return OSError(error.errno, os.strerror(error.errno or 0))
    reason = _reason(said)
    if reason.startswith(("NoClassDefFound", "ClassNotFound")):
        return OSError(errno.EIO, f"CLASSPATH leads to no Hadoop{_SETTINGS}")
    for pattern, number, sentence in _KINDS:
        if re.search(pattern, reason):
            return OSError(number, _with_reason(sentence, reason))
    if isinstance(error, PermissionError):
        return PermissionError(errno.EACCES, _with_reason("access is forbidden", reason))
    sentence = "Hadoop failed"
    if error.errno not in (None, errno.EIO, _UNKNOWN):
        sentence = os.strerror(error.errno)
    return OSError(
        error.errno or errno.EIO, _with_reason(sentence, reason or _OPERATION.sub("", text))
    )


def _with_reason(sentence: str, reason: str) -> str:
    return f"{sentence} ({reason[:_MAX_CHARACTERS].rstrip('.')})" if reason else sentence


def _reason(said: str) -> str:
    """Return the name and the message of the last exception that libhdfs has written about."""
    found = list(_SAID.finditer(said)) or list(_NAME_ONLY.finditer(said))
    if not found:
        return ""
    groups = found[-1].groupdict("")
    message = _ELSEWHERE.sub("", _STACK.sub("", groups.get("message", ""))).strip()
    message = without_tokens(message)
    name = groups["name"]
    return message if name == "RemoteException" and message else f"{name}: {message}".rstrip(": ")


def _note_fork() -> None:
    """Keep the end of a forked child, too, from calling Java, which would not answer."""
    global _is_forked
    for each in _users:
        _is_forked = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


os.register_at_fork(after_in_child=_note_fork)


_UNBUFFERED = 2  # _IONBF of stdio.h
_STANDARD_ERROR = 2


class _Ear:
    """A file in memory that stands in for C's standard error while calls of any thread run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_calls = 0
        self._is_told = False
        self._file = os.memfd_create("stderr")
        libc = ctypes.CDLL(None)
        libc.fdopen.restype = ctypes.c_void_p
        self._stream = libc.fdopen(self._file, b"a")
        libc.setvbuf(ctypes.c_void_p(self._stream), None, _UNBUFFERED, 0)
        self._stderr = ctypes.c_void_p.in_dll(libc, "stderr")
        self._usual = self._stderr.value
        os.register_at_fork(after_in_child=self._restore)

    def begin(self) -> int:
        """Begin to hear, and return where what is said will begin."""
        with self._lock:
            self._num_calls += 1
            self._stderr.value = self._stream
            return os.fstat(self._file).st_size

    def said(self, start: int) -> bytes:
        return os.pread(self._file, os.fstat(self._file).st_size - start, start)

    def end(self, *, is_told: bool) -> None:
        with self._lock:
            self._num_calls -= 1
            self._is_told |= is_told
            if self._num_calls:
                return
            self._restore()
            if not self._is_told and (said := self.said(0)):
                os.write(_STANDARD_ERROR, said)
            self._is_told = False
            os.ftruncate(self._file, 0)

    def _restore(self) -> None:
        self._stderr.value = self._usual


@contextlib.contextmanager
def heard() -> Iterator[Callable[[], str]]:
    """Hear what C libraries write to standard error while the block runs.

    libhdfs gives the reason of an error nowhere else, and there with Java's stack. Python's own
    standard error is not affected: only the variable `stderr` of C changes, which the GNU C Library
    allows; with another one nothing is heard. What no error has told is passed on.

    Yields:
      A function that returns it, for the error that the block raises.
    """
    if _EAR is None:
        yield str
        return
    start = _EAR.begin()
    is_told = True
    try:
        yield lambda: _EAR.said(start).decode(errors="replace")
        is_told = False
    finally:
        _EAR.end(is_told=is_told)


def _open_ear() -> _Ear | None:
    try:
        return _Ear() if os.confstr("CS_GNU_LIBC_VERSION") else None
    except (OSError, ValueError):  # another C library, or a system without files in memory
        return None


_EAR = _open_ear()  # here, as a second one would take the stream of the first for the usual one
