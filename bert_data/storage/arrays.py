"""Arrays in files, as NumPy's .npy or bare values; reading maps them.

save_array("counts.npy", int64[3])   load_array("counts.npy")              int64[3], read-only
uint32 words in a spool              load_values("spool", dtype uint32)    uint32[words]
"""

import io
import os
import types
from typing import IO, TYPE_CHECKING, Any

from bert_data.errors import CorruptDataError
from bert_data.storage.paths import Path, is_remote, open_named
from bert_data.storage.reading import map_file, read_bytes
from bert_data.storage.statuses import file_size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

_LONGER = "longer than its array"
_HEADER_BYTES = 1 << 16


def save_array(target: Path | IO[bytes], array: "NDArray[Any]") -> None:
    """Write an array as .npy.

    Args:
      target: a stream, or the path of a file in the run's own work folder, where it may be visible
        half-written.

    Raises:
      OSError: it cannot be written; of a path, the error names it.
    """
    import numpy as np

    if isinstance(target, str | os.PathLike):
        with open_named(target) as file:
            save_array(file, array)
        return
    # NumPy writes to files itself, and then does not know why that failed.
    stream: Any = types.SimpleNamespace(write=target.write)
    np.save(stream, array, allow_pickle=False)


def load_array(path: Path) -> "NDArray[Any]":
    """Map the array of a .npy file, read-only; of a remote one a local copy.

    Raises:
      CorruptDataError: the file is not one complete array.
    """
    import numpy as np

    if is_remote(path):
        return _load_remote(path)
    array = _open_array(path)
    if array.offset + array.nbytes != file_size(path):
        raise CorruptDataError(path, 0, _LONGER)
    return np.asarray(array)


def _load_remote(path: Path) -> "NDArray[Any]":
    import numpy as np

    data = map_file(path).data
    head = io.BytesIO(data[:_HEADER_BYTES].tobytes())
    try:
        if np.lib.format.read_magic(head) != (1, 0):
            raise ValueError("its version is not 1.0")
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(head)
        array = data[head.tell() :].view(dtype).reshape(shape, order="F" if is_fortran else "C")
    except Exception as error:
        raise _not_an_array(path, error) from error
    return array


def read_array(path: Path) -> "NDArray[Any]":
    """Read the array of a .npy file, local or remote, into memory.

    Raises:
      CorruptDataError: the file is not one complete array.
    """
    if not is_remote(path):
        return load_array(path).copy()
    import numpy as np

    stream = io.BytesIO(read_bytes(path))
    try:
        array = np.lib.format.read_array(stream, allow_pickle=False)
    except Exception as error:
        raise _not_an_array(path, error) from error
    if stream.read(1):
        raise CorruptDataError(path, 0, _LONGER)
    return array


def _open_array(path: Path) -> "np.memmap[Any, Any]":
    import numpy as np

    try:
        return np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    except Exception as error:  # the header is parsed as Python, so damage raises almost anything
        raise _not_an_array(path, error) from error


def _not_an_array(path: Path, error: Exception) -> CorruptDataError:
    return CorruptDataError(path, 0, f"not a complete array ({' '.join(str(error).split())})")


def read_values(source: Path | IO[bytes], dtype: "DTypeLike", count: int = -1) -> "NDArray[Any]":
    """Read bare values into memory.

    Args:
      source: a local file's path, or an open file, read from its current position.
      dtype: of the values.
      count: how many; -1: all that follow.
    """
    import numpy as np

    return np.fromfile(source, dtype, count)


def load_values(path: Path, dtype: "DTypeLike") -> "NDArray[Any]":
    """Map a local file of bare values, read-only.

    Args:
      path: of the file, whose size is a multiple of a value's size.
      dtype: of the values.
    """
    return map_file(path).data.view(dtype)
