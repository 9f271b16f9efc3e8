"""Files of lines, read as blocks of whole lines.

    "one\\ntwo\\nthr" | "ee\\n"   ->   LineBlock(b"one\\ntwo\\n"), LineBlock(b"three\\n")

How a file is cut depends on the file and on `block_bytes` alone, never on who works on the blocks.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import IO

from bert_data.text.compression import open_bytes

DEFAULT_BLOCK_BYTES = 2 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class LineBlock:
    """Whole lines of one file.

    Attributes:
      path: the file.
      file: its number among the files that are read, from 0.
      data: the bytes; the last line of a file may lack its newline.
      num_file_bytes: what was read of the file for them, compressed as it is.
    """

    path: str
    file: int
    data: bytes
    num_file_bytes: int


def read_line_blocks(
    paths: Sequence[str], *, block_bytes: int = DEFAULT_BLOCK_BYTES
) -> Iterator[LineBlock]:
    """Reads files in order, in blocks of about `block_bytes` that end with a line.

    A line longer than a block makes its block longer. An empty file gives no block.

    Raises:
      OSError: a file cannot be read.
      CorruptDataError: a compressed file is damaged.
    """
    for number, path in enumerate(paths):
        with open_bytes(path) as (text, file):
            position = 0
            pieces: list[bytes] = []  # of a line that goes on
            while data := text.read(block_bytes):
                end = data.rfind(b"\n") + 1
                if end == 0:
                    pieces.append(data)
                    continue
                lines = b"".join([*pieces, memoryview(data)[:end]])
                before, position = position, _position(file)
                yield LineBlock(
                    path=path, file=number, data=lines, num_file_bytes=position - before
                )
                pieces = [data[end:]] if end < len(data) else []
            if pieces:
                yield LineBlock(
                    path=path,
                    file=number,
                    data=b"".join(pieces),
                    num_file_bytes=_position(file) - position,
                )


def _position(file: IO[bytes]) -> int:
    """How far a file is read; 0 for a pipe, which does not know."""
    return file.tell() if file.seekable() else 0
