"""Tables at the end of files: the reports of tasks, and where the arrays of a file are.

any bytes | table, in JSON | its CRC-32 and size, 8 bytes each
"""

import json
import os
import struct
import zlib
from typing import IO, Any

from bert_data.errors import CorruptDataError
from bert_data.storage import naming, open_input
from bert_data.storage.paths import Path

_END = struct.Struct("<QQ")  # CRC-32 and size of a table
_TAIL_BYTES = 1 << 16  # that are read at once: most tables are shorter


def write_table(file: IO[bytes], table: str) -> None:
    """Write a table, in JSON, where a file ends."""
    text = table.encode()
    file.write(text + _END.pack(zlib.crc32(text), len(text)))


def read_table(path: Path) -> tuple[Any, int]:
    """Return the table of a file, local or remote, and the number of bytes before it.

    Raises:
      CorruptDataError: it is not whole.
    """
    with naming(path), open_input(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL_BYTES, 0))
        tail = file.read(_TAIL_BYTES)
        checksum, num_bytes = _END.unpack(tail[-_END.size :].rjust(_END.size, b"\0"))
        begin = max(size - _END.size - num_bytes, 0)
        if num_bytes > len(tail) - _END.size:
            file.seek(begin)
            tail = file.read(size - begin)
    text = tail[: -_END.size][-num_bytes:]
    if len(text) != num_bytes or not num_bytes or zlib.crc32(text) != checksum:
        raise CorruptDataError(path, begin, "not the table that was written")
    return json.loads(text), begin
