"""Opens a file of text by its ending: plain, `.gz` or `.zst`."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from typing import IO, cast

import zstandard

from bert_data.errors import CorruptDataError


@contextlib.contextmanager
def open_bytes(path: str) -> Iterator[IO[bytes]]:
    """Opens a file for reading, decompressed.

    Raises:
      CorruptDataError: the compressed file is damaged or ends too early.
    """
    with open(path, "rb", buffering=0) as file:
        try:
            if path.endswith(".gz"):
                yield cast(IO[bytes], gzip.GzipFile(fileobj=file))
            elif path.endswith(".zst"):
                yield zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            else:
                yield file
        except (gzip.BadGzipFile, zlib.error, EOFError, zstandard.ZstdError) as error:
            raise CorruptDataError(
                path, file.tell(), f"the compressed data is damaged ({error})"
            ) from error
