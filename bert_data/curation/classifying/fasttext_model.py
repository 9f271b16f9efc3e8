"""fastText's models of text: their files (.bin, quantized .ftz), and the mean vector of a text.

    read_arrays("model.bin")  ->  words  the</s>cat    labels  __label__hq __label__cc
                                  vectors of words, then of n-grams    outputs, one a label

Such a model classifies bags of n-grams (Joulin et al. 2016, "Bag of tricks for efficient text
classification" and "FastText.zip"). A text is the mean of the vectors of its known words, of the
n-grams of characters within "<word>", and of its n-grams of words, except those that were pruned.
Everything happens in fastText's order and precision.
"""

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_kernels import (
    END_BYTES,
    Arrays,
    KernelSettings,
    fill_name_slots,
)
from bert_data.errors import CorruptDataError
from bert_data.storage import map_file

_MAGIC, _VERSIONS, _SUPERVISED = 793712314, (11, 12), 3
_LOSSES = (1, 2, 3, 4)
_NUM_CENTROIDS = 256
_MAX_DIM, _MAX_LENGTH = 1 << 16, 1 << 10
_ENTRY = struct.Struct("<qb")  # a name's count and kind
_KINDS = "word", "label"


class ModelFile:
    """Reads a model from its start to its end; refuses damage."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._data: Any = map_file(path).data
        self._place = 0

    def refuse_unless(self, is_sound: bool, reason: str) -> None:
        """Raise CorruptDataError with a reason unless something holds."""
        if not is_sound:
            raise CorruptDataError(self._path, self._place, reason)

    def read_header(self) -> tuple[int, KernelSettings]:
        """Read the size of a vector, and the settings that are not the dictionary's."""
        self.refuse_unless(
            len(self._data) >= 8 and self._data[:4].view("<i4")[0] == _MAGIC,
            "not a model of fastText",
        )
        _, version = self._numbers("<i4", 2)
        self.refuse_unless(version in _VERSIONS, f"version {version}; only 11 and 12 are known")
        dim, _, _, _, _, words, loss, model, buckets, shortest, longest, _ = self._numbers(
            "<i4", 12
        )
        self._numbers("<f8", 1)
        self.refuse_unless(
            model == _SUPERVISED, "a model of words alone; only supervised ones classify texts"
        )
        self.refuse_unless(loss in _LOSSES, f"unknown loss {loss}")
        self.refuse_unless(
            0 < dim <= _MAX_DIM
            and 0 <= words <= _MAX_LENGTH
            and buckets >= 0
            and 0 <= shortest <= _MAX_LENGTH
            and 0 <= longest <= _MAX_LENGTH,
            "its dimensions are out of range",
        )
        longest = 0 if version == 11 else longest  # fastText does so, too
        return dim, KernelSettings(
            min_characters=shortest,
            max_characters=longest,
            word_ngrams=words,
            num_buckets=buckets,
            loss=loss,
        )

    def read_dictionary(self, settings: KernelSettings) -> tuple[Arrays, NDArray[np.int32] | None]:
        """Read words and labels, but no vectors, and bucket and row of n-grams that pruning kept.

        Without pruning, these are None.
        """
        num_names, num_words, num_labels = self._numbers("<i4", 3)
        _, num_pruned = self._numbers("<i8", 2)
        self.refuse_unless(
            num_words > 0 and num_labels > 0 and num_names == num_words + num_labels,
            "the numbers of words and labels are out of range",
        )
        names, counts = self._read_names(num_names, num_words)
        kept = self._array("<i4", num_pruned, 2) if num_pruned >= 0 else None
        sums = np.cumsum([0, *map(len, names)], dtype=np.int64)
        self.refuse_unless(sums[-1] < 1 << 31, "its words have more than 2 GiB")
        joined, ends = np.frombuffer(b"".join(names), np.uint8), sums.astype(np.int32)
        slots = np.zeros(1 << (2 * len(ends)).bit_length(), np.int32)
        end = int(fill_name_slots(joined, ends, slots, END_BYTES))
        nothing = np.zeros((0, 0), np.float32)
        arrays = Arrays(
            settings=settings._replace(end=end if end < num_words else -1, num_words=num_words),
            names=joined,
            ends=ends,
            counts=counts[num_words:],
            slots=slots,
            rows=np.zeros(0, np.uint16),
            vectors=nothing,
            outputs=nothing,
        )
        return arrays, kept

    def _read_names(self, num_names: int, num_words: int) -> tuple[list[bytes], NDArray[np.int64]]:
        self._need(num_names * (1 + _ENTRY.size))
        names: list[bytes] = []
        counts = np.zeros(num_names, np.int64)
        place = self._place
        for number in range(num_names):
            end = _find_zero(self._data, place)
            names.append(self._data[place:end].tobytes())
            self._place, place = place, end + 1 + _ENTRY.size
            self.refuse_unless(place <= len(self._data), "the model ends too early")
            counts[number], kind = _ENTRY.unpack_from(self._data, end + 1)
            if kind != (number >= num_words) or counts[number] < 0:
                self.refuse_unless(False, f"{_KINDS[number >= num_words]} {number} is damaged")
        self._place = place
        return names, counts

    def read_matrix(
        self, dim: int, num_rows: int, is_quantized: bool = True
    ) -> tuple[NDArray[np.float32], bool]:
        """Read a matrix, which may be quantized: float32 [rows, dim]; return whether it was."""
        (flag,) = self._numbers("u1", 1)
        self.refuse_unless(flag in (0, 1), "a flag is neither 0 nor 1")
        has_norms = self._numbers("u1", 1)[0] if flag and is_quantized else 0
        shape = self._numbers("<i8", 2)
        self.refuse_unless(
            shape == [num_rows, dim],
            f"a matrix of {shape[0]} x {shape[1]} numbers; {num_rows} x {dim} are due",
        )
        if not (flag and is_quantized):
            matrix = self._array("<f4", num_rows, dim)
            self.refuse_unless(bool(np.isfinite(matrix).all()), "a number is not finite")
            return matrix, bool(flag)
        (num_codes,) = self._numbers("<i4", 1)
        self.refuse_unless(
            num_codes > 0 and num_codes % num_rows == 0, "the number of codes is wrong"
        )
        codes = self._array("u1", num_rows, num_codes // num_rows)
        matrix = self._decode(codes, dim)
        if has_norms:
            norm_codes = self._array("u1", num_rows, 1)
            matrix *= self._decode(norm_codes, 1)
        return matrix, True

    def _decode(self, codes: NDArray[np.uint8], dim: int) -> NDArray[np.float32]:
        """Read what codes stand for: [rows, parts] codes -> float32 [rows, dim]."""
        quantized_dim, num_parts, width, last_width = self._numbers("<i4", 4)
        self.refuse_unless(
            quantized_dim == dim
            and num_parts == codes.shape[1]
            and width > 0
            and 0 < last_width <= width
            and (num_parts - 1) * width + last_width == dim,
            "the parts of quantized vectors do not fit their size",
        )
        centroids = self._array("<f4", _NUM_CENTROIDS * dim)
        self.refuse_unless(bool(np.isfinite(centroids).all()), "a number is not finite")
        matrix = np.empty((len(codes), dim), np.float32)
        for part in range(num_parts):
            start = part * width
            end = min(start + width, dim)
            table = centroids[_NUM_CENTROIDS * start : _NUM_CENTROIDS * end]
            matrix[:, start:end] = table.reshape(_NUM_CENTROIDS, -1)[codes[:, part]]
        return matrix

    def check_end(self) -> None:
        """Check that nothing is left."""
        self.refuse_unless(self._place == len(self._data), "bytes after the end of the model")

    def _need(self, num_bytes: int) -> None:
        if num_bytes > len(self._data) - self._place:
            raise CorruptDataError(self._path, len(self._data), "the model ends too early")

    def _numbers(self, dtype: str, count: int) -> list[Any]:
        return self._array(dtype, count).tolist()

    def _array(self, dtype: str, *shape: int) -> NDArray[Any]:
        num_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        self._need(num_bytes)
        self._place += num_bytes
        data = self._data[self._place - num_bytes : self._place]
        return np.frombuffer(data, dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)


def _find_zero(data: NDArray[np.uint8], start: int) -> int:
    """Return the place of the next 0, or the end of the data."""
    width = 64
    while start < len(data):
        place = data[start : start + width].tobytes().find(b"\0")
        if place >= 0:
            return start + place
        start, width = start + width, 2 * width
    return len(data)


def read_arrays(path: str) -> Arrays:
    """Read a supervised model."""
    file = ModelFile(path)
    dim, settings = file.read_header()
    arrays, kept = file.read_dictionary(settings)
    num_words, num_labels = arrays.settings.num_words, len(arrays.counts)
    uses_ngrams = settings.word_ngrams > 1 or settings.max_characters > 0
    file.refuse_unless(settings.num_buckets > 0 or not uses_ngrams, "n-grams without buckets")
    rows, num_ngrams = _place_ngrams(file, num_words, settings.num_buckets, kept)
    vectors, is_quantized = file.read_matrix(dim, num_words + num_ngrams)
    outputs, _ = file.read_matrix(dim, num_labels, is_quantized)
    file.check_end()
    return arrays._replace(rows=rows, vectors=vectors, outputs=outputs)


def wrap_words(text: str) -> tuple[bytes, int]:
    """Return the words of a text as the kernels take them: b"<the> <cat> "; and their number.

    As in fastText, spaces of ASCII separate words, and so does the null character.
    """
    words = text.encode(errors="replace").replace(b"\0", b" ").split()
    return (b"<%b> " % b"> <".join(words) if words else b""), len(words)


def _place_ngrams(
    file: ModelFile, num_words: int, num_buckets: int, kept: NDArray[np.int32] | None
) -> tuple[NDArray[Any], int]:
    """Return the row of each bucket (`Arrays.rows`), and the number of rows of n-grams."""
    if kept is None:
        return np.zeros(0, np.uint16), num_buckets
    buckets, places = kept.T
    file.refuse_unless(
        bool((kept >= 0).all())
        and bool((buckets < num_buckets).all())
        and bool((places < len(kept)).all()),
        "the list of n-grams has some that are not there",
    )
    is_small = num_words + len(kept) <= np.iinfo(np.uint16).max
    rows = np.zeros(num_buckets, np.uint16 if is_small else np.uint32)
    rows[buckets] = num_words + places
    return rows, len(kept)


def huffman_tree(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the children of all nodes of fastText's Huffman tree.

    They are int32 [2 * leaves - 1, 2]; the leaves, by decreasing counts, come first, with -1.
    """
    sums = counts.tolist()
    children = np.full((2 * len(sums) - 1, 2), -1, np.int32)
    leaf = len(sums) - 1
    node = len(sums)
    for parent in range(len(counts), len(children)):
        for side in range(2):
            if leaf >= 0 and (node == parent or sums[leaf] < sums[node]):
                children[parent, side], leaf = leaf, leaf - 1
            else:
                children[parent, side], node = node, node + 1
        sums.append(sum(sums[child] for child in children[parent]))
    return children
