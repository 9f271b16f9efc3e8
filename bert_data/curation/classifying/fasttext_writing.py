"""Write fastText's supervised models as .bin (version 12), part by part.

write_bin(file, header, model)   ->  arguments | words and labels | vectors | outputs
"""

import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_file import ENTRY, MAGIC, SUPERVISED, Header

_VERSION = 12
_CHUNK_ROWS = 1 << 16


class TrainedModel(NamedTuple):
    """A model, plain and unpruned.

    Attributes:
      names: bytes of all words and then all labels, one after the other.
      ends: int32 [names + 1], 0 and the end of each name.
      counts: int64 [names], how often each occurred.
      num_labels: how many of the names are labels.
      num_tokens: of all texts.
      vectors: float32 [words + buckets, dim].
      outputs: float32 [labels, dim].
    """

    names: NDArray[np.uint8]
    ends: NDArray[np.int32]
    counts: NDArray[np.int64]
    num_labels: int
    num_tokens: int
    vectors: NDArray[np.float32]
    outputs: NDArray[np.float32]


class Arguments(NamedTuple):
    """Arguments of the training that the file records, though no prediction needs them.

    Attributes:
      epochs: passes over the texts.
      min_count: how often words must occur.
    """

    epochs: int
    min_count: int


# Arguments of fastText's other models, at its defaults.
_WINDOW, _NEGATIVES, _RATE_TOKENS, _SAMPLING = 5, 5, 100, 1e-4


def write_bin(file: IO[bytes], header: Header, arguments: Arguments, model: TrainedModel) -> None:
    """Write a model."""
    file.write(struct.pack("<2i", MAGIC, _VERSION))
    file.write(struct.pack("<4i", header.dim, _WINDOW, arguments.epochs, arguments.min_count))
    file.write(struct.pack("<4i", _NEGATIVES, header.word_ngrams, header.loss, SUPERVISED))
    characters = header.min_characters, header.max_characters
    file.write(struct.pack("<4id", header.num_buckets, *characters, _RATE_TOKENS, _SAMPLING))
    num_names = len(model.counts)
    num_words = num_names - model.num_labels
    file.write(struct.pack("<3i", num_names, num_words, model.num_labels))
    file.write(struct.pack("<2q", model.num_tokens, -1))
    file.writelines(_entries(model, num_words))
    for matrix in model.vectors, model.outputs:
        file.write(struct.pack("<?2q", False, len(matrix), header.dim))
        for start in range(0, len(matrix), _CHUNK_ROWS):
            chunk = matrix[start : start + _CHUNK_ROWS]
            file.write(chunk.astype("<f4", copy=False).data)


def _entries(model: TrainedModel, num_words: int) -> Iterator[bytes]:
    """Yield the names with their counts and kinds."""
    names, start = model.names.tobytes(), 0
    ends = model.ends[1:].tolist()
    for number, (end, count) in enumerate(zip(ends, model.counts.tolist(), strict=True)):
        yield names[start:end] + b"\0" + ENTRY.pack(count, number >= num_words)
        start = end
