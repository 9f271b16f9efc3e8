"""Any tf.train.Example as bytes, and its frame in a TFRecord file, without TensorFlow.

    encode_example({"label": int64 [3], "text": [b"so so"]})
      -> 0A 1D  0A 0E ("label" -> int64_list [3])  0A 0B ("text" -> bytes_list [b"so so"])

An Example is a protobuf map and protobuf leaves the order of a map's entries open; here they are
sorted by name, so that equal features are equal bytes. Source of the format:
tensorflow/core/example/feature.proto and the wire format of protobuf.
"""

import functools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.records.crc32c import masked_crc32c
from bert_data.records.protobuf import FIELD_1, FIELD_2, FLOAT_LIST, INT64_LIST
from bert_data.schema.ragged_arrays import Values

BYTES_LIST = 0x0A  # tag of the kind of Feature, as FLOAT_LIST and INT64_LIST
_MAX_VARINT_BYTES = 10
_CRC_BYTES = 4


@kernel
def _pack_rows(
    values: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> Scalar:
    """Writes each row's values as varints, row after row, and where each row ends.

    Args:
      values: uint64[any]; a negative number counts modulo 2**64, as protobuf has it.
      bounds: int64[rows + 1], row i is values[bounds[i]:bounds[i + 1]].
      out: uint8[bytes], at least ten for each value.
      ends: int64[rows], filled.
    """
    at = np.int64(0)
    for row in range(ends.size):
        for i in range(bounds[row], bounds[row + 1]):
            value = values[i]
            while value >= np.uint64(128):
                out[at] = value & np.uint64(127) | np.uint64(128)
                value >>= np.uint64(7)
                at += 1
            out[at] = value
            at += 1
        ends[row] = at
    return at


def pack_int64_rows(values: NDArray[np.int64], bounds: NDArray[np.int64]) -> list[bytes]:
    """The values of one int64 feature of many Examples, packed as `encode_packed` takes them.

    Args:
      values: int64[any].
      bounds: int64[rows + 1], ascending; row i is values[bounds[i]:bounds[i + 1]].

    Returns:
      Of each row the packed varints.
    """
    numbers = np.ascontiguousarray(values, np.int64).view(np.uint64)
    limits = np.ascontiguousarray(bounds, np.int64)
    out = np.empty(_MAX_VARINT_BYTES * int(limits[-1] - limits[0]) + 1, np.uint8)
    ends = np.empty(limits.size - 1, np.int64)
    size = _pack_rows(numbers, limits, out, ends)
    data = out[:size].tobytes()
    stops = ends.tolist()
    return [data[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]


def encode_example(features: Mapping[str, Values]) -> bytes:
    """The bytes of a tf.train.Example; equal features give equal bytes.

    Args:
      features: values by name. An int64 array becomes an int64_list, a float32 array a float_list,
        a sequence of bytes (an object array, too) a bytes_list; any of them may be empty. An array
        has one dimension.

    Raises:
      ValueError: values are of another type or have more dimensions.
    """
    entries = [_encode_values(name, features[name]) for name in sorted(features)]
    return encode_entries(entries)


def _encode_values(name: str, values: Values) -> bytes:
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"feature {name!r} has {values.ndim} dimensions; one is allowed")
    if isinstance(values, np.ndarray) and values.dtype == np.int64:
        packed = pack_int64_rows(values.astype(np.int64), np.array([0, values.size]))[0]
        return encode_packed(name, INT64_LIST, packed)
    if isinstance(values, np.ndarray) and values.dtype == np.float32:
        return encode_packed(name, FLOAT_LIST, values.astype("<f4").tobytes())
    if isinstance(values, np.ndarray) and values.dtype != np.object_:
        raise ValueError(
            f"feature {name!r} holds {values.dtype}; int64, float32 or bytes are allowed"
        )
    for value in values:
        if not isinstance(value, bytes):
            kind = type(value).__name__
            raise ValueError(f"feature {name!r} holds {kind}; int64, float32 or bytes are allowed")
    return encode_bytes_list(name, values)  # type: ignore[arg-type]


def encode_packed(name: str, kind: int, packed: bytes) -> bytes:
    """A feature's entry in an Example.

    Args:
      name: of the feature.
      kind: FLOAT_LIST or INT64_LIST.
      packed: its values, little-endian float32 or varints.
    """
    return _encode_entry(name, kind, _field(FIELD_1, packed) if packed else b"")


def encode_bytes_list(name: str, values: Sequence[bytes]) -> bytes:
    """The entry in an Example of a feature of bytes."""
    return _encode_entry(name, BYTES_LIST, b"".join(_field(FIELD_1, value) for value in values))


def encode_entries(entries: Sequence[bytes]) -> bytes:
    """The Example of features' entries, which come sorted by name."""
    return _field(FIELD_1, b"".join(entries))


def frame_record(data: bytes) -> bytes:
    """The record of a TFRecord file: length, its checksum, data, its checksum."""
    length = len(data).to_bytes(8, "little")
    crcs = (masked_crc32c(part).to_bytes(_CRC_BYTES, "little") for part in (length, data))
    return b"".join((length, next(crcs), data, next(crcs)))


def _encode_entry(name: str, kind: int, values: bytes) -> bytes:
    return _field(FIELD_1, _key(name) + _field(FIELD_2, _field(kind, values)))


@functools.lru_cache(maxsize=256)
def _key(name: str) -> bytes:
    return _field(FIELD_1, name.encode())


def _field(tag: int, content: bytes) -> bytes:
    """A field that holds bytes: tag, size, content."""
    size = len(content)
    if size < 128:
        return bytes((tag, size)) + content
    head = bytearray((tag,))
    while size >= 128:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + content
