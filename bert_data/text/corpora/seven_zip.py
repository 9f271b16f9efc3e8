"""Archives of 7-Zip: one of their files, passed on in parts as it is decompressed.

coffee.stackexchange.com.7z, "posts.xml"  ->  feed(b"<?xml ..."), feed(b"<row ..."), ...

py7zr decompresses what precedes the file in its group, too, and holds a block at a time.
"""

import posixpath
from collections.abc import Callable
from typing import Any

from bert_data.errors import CorruptDataError
from bert_data.packages import load_package
from bert_data.storage import naming, open_input

ENDING = ".7z"
EXTRA = "sevenzip"

_PART_BYTES = 1 << 16


def feed_member(path: str, name: str, feed: Callable[[bytes], None]) -> int:
    """Pass on a file of an archive.

    Args:
      name: of the file, in lower case and without its folder.
      feed: receives the bytes, up to 64 KB at a time; its errors are passed on.

    Returns:
      The bytes of the archive that were read.

    Raises:
      ValueError: py7zr is not installed.
      OSError: the archive cannot be read.
      CorruptDataError: it is damaged, ends too early, needs a password, is no such archive or does
        not have the file.
    """
    py7zr = load_package("py7zr", f"{path}: 7-Zip", extra=EXTRA)
    problem: list[Exception] = []

    class Fed(py7zr.Py7zIO):  # type: ignore[name-defined]
        """A file that is passed on as it is written."""

        def write(self, data: bytes | bytearray) -> int:
            for start in range(0, len(data), _PART_BYTES):
                try:
                    feed(bytes(data[start : start + _PART_BYTES]))
                except Exception as error:
                    problem.append(error)
                    raise
            return len(data)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return 0

        def flush(self) -> None:
            pass

        def size(self) -> int:
            return 0

    class Factory(py7zr.WriterFactory):  # type: ignore[name-defined]
        """Makes the file."""

        def create(self, filename: str) -> Any:
            return Fed()

    with naming(path), open_input(path) as file:
        try:
            with py7zr.SevenZipFile(file) as archive:
                archive.extract(targets=[_find(archive, path, name)], factory=Factory())
        except Exception as error:  # of damage, py7zr has errors of its own and many others
            if problem:
                raise problem[0] from None
            if isinstance(error, CorruptDataError):
                raise
            if isinstance(error, py7zr.PasswordRequired):
                reason = "the archive needs a password; unpack it first"
                raise CorruptDataError(path, file.tell(), reason) from None
            if isinstance(error, OSError) and error.errno is not None:  # bzip2's has no number
                raise
            reason = f"not a 7-Zip archive, or damaged ({type(error).__name__}: {error})"
            raise CorruptDataError(path, file.tell(), reason) from error
        return file.tell()


def _find(archive: Any, path: str, name: str) -> str:
    """Return the name, as it is in the archive, of the first file of a name."""
    names = archive.getnames()
    for each in names:
        if posixpath.basename(each).lower() == name:
            return each
    held = ", ".join(names[:5]) or "nothing"
    raise CorruptDataError(path, 0, f"the archive has no {name}; it has {held}")
