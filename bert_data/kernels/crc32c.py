"""CRC-32C (Castagnoli), the checksum of TFRecord files, and of files that a task has finished.

    crc32c(b"123456789") == 0xE3069283

x86-64 processors since 2008 (SSE 4.2) have an instruction for eight bytes at a time; other
processors use tables.
"""

import platform
from typing import Any

import llvmlite.binding
import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import inner, intrinsic, kernel

_POLYNOMIAL = 0x82F63B78  # bit-reversed
_MASK_DELTA = np.uint32(0xA282EAD8)
_ALL_ONES = np.uint32(0xFFFFFFFF)
_BYTE = np.uint32(0xFF)
_LENGTH_BYTES, _FRAME_BYTES = 8, 12  # before the data of a TFRecord


def has_instruction() -> bool:
    """Return whether this processor has the instruction."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    return bool(llvmlite.binding.get_host_cpu_features().get("sse4.2", False))


HAS_INSTRUCTION = has_instruction()


def _make_tables() -> NDArray[np.uint32]:
    """Return eight tables: the checksum of each byte followed by 0 to 7 zero bytes."""
    tables = np.zeros((8, 256), np.uint32)
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, values >> 1 ^ np.uint32(_POLYNOMIAL), values >> 1)
    tables[0] = values
    for i in range(1, 8):
        tables[i] = tables[i - 1] >> 8 ^ tables[0][tables[i - 1] & 0xFF]
    return tables


_TABLES = _make_tables()


@intrinsic
def _crc_of_8_bytes(typing_context: Any, crc: Any, data: Any, start: Any) -> Any:
    """Continue the checksum `crc` (uint64) over data[start : start + 8] (uint8 array)."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        crc_value, array_value, start_value = arguments
        array = context.make_array(signature.args[1])(context, builder, array_value)
        address = builder.gep(array.data, [start_value])
        word_type = ir.IntType(64)
        word = builder.load(builder.bitcast(address, word_type.as_pointer()), align=1)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(word_type, [word_type, word_type]),
            "llvm.x86.sse42.crc32.64.64",
        )
        return builder.call(function, [crc_value, word])

    return types.uint64(types.uint64, data, types.intp), generate


@inner
def _extend_bytes(crc: np.uint32, data: NDArray[np.uint8], start: int, stop: int) -> np.uint32:
    for i in range(start, stop):
        crc = _TABLES[0, (crc ^ data[i]) & _BYTE] ^ (crc >> np.uint32(8))
    return crc


@inner
def extend_by_tables(crc: np.uint32, data: NDArray[np.uint8], start: int, stop: int) -> np.uint32:
    """Process eight bytes per step (Kounavis and Berry 2005, slicing-by-8)."""
    while stop - start >= 8:
        low = crc ^ (
            np.uint32(data[start])
            | np.uint32(data[start + 1]) << np.uint32(8)
            | np.uint32(data[start + 2]) << np.uint32(16)
            | np.uint32(data[start + 3]) << np.uint32(24)
        )
        crc = (
            _TABLES[7, low & _BYTE]
            ^ _TABLES[6, low >> np.uint32(8) & _BYTE]
            ^ _TABLES[5, low >> np.uint32(16) & _BYTE]
            ^ _TABLES[4, low >> np.uint32(24)]
            ^ _TABLES[3, data[start + 4]]
            ^ _TABLES[2, data[start + 5]]
            ^ _TABLES[1, data[start + 6]]
            ^ _TABLES[0, data[start + 7]]
        )
        start += 8
    return _extend_bytes(crc, data, start, stop)


@inner
def extend_by_instruction(
    crc: np.uint32, data: NDArray[np.uint8], start: int, stop: int
) -> np.uint32:
    """Process eight bytes per instruction."""
    wide = np.uint64(crc)
    while stop - start >= 8:
        wide = _crc_of_8_bytes(wide, data, start)
        start += 8
    return _extend_bytes(np.uint32(wide), data, start, stop)


_extend = extend_by_instruction if HAS_INSTRUCTION else extend_by_tables


@kernel
def crc32c_of_range(data: NDArray[np.uint8], start: int, stop: int, crc: np.uint32) -> np.uint32:
    """Return the CRC-32C of data[start:stop], continued from `crc` of what precedes it; uint32."""
    return _extend(np.uint32(crc) ^ _ALL_ONES, data, start, stop) ^ _ALL_ONES


@kernel
def masked_crc32c_of_range(data: NDArray[np.uint8], start: int, stop: int) -> np.uint32:
    """Return the checksum as in TFRecord files: rotated by 15 bits, plus a constant; uint32."""
    crc = crc32c_of_range(data, start, stop, np.uint32(0))
    # numba widens the sum to 64 bits.
    return np.uint32((crc >> np.uint32(15) | crc << np.uint32(17)) + _MASK_DELTA)


def crc32c(data: bytes | memoryview | NDArray[np.uint8], crc: int = 0) -> int:
    """Return the CRC-32C of bytes, continued from that of those before them; in [0, 2**32)."""
    array = np.frombuffer(data, np.uint8)
    return int(crc32c_of_range(array, 0, array.size, np.uint32(crc)))


def masked_crc32c(data: bytes | memoryview | NDArray[np.uint8]) -> int:
    """Return the masked checksum of bytes, as in a TFRecord; in [0, 2**32)."""
    array = np.frombuffer(data, np.uint8)
    return int(masked_crc32c_of_range(array, 0, array.size))


def is_frame(head: bytes) -> bool:
    """Return whether it starts with the length of a TFRecord and the checksum of that."""
    is_whole = len(head) >= _FRAME_BYTES
    checksum = int.from_bytes(head[_LENGTH_BYTES:_FRAME_BYTES], "little")
    return is_whole and masked_crc32c(head[:_LENGTH_BYTES]) == checksum
