"""A data set as files, from which other processes open it without making its indices again.

    GptDataset, BlendedDataset --take_snapshot--> Snapshot --save--> dataset, arrays
    dataset, arrays --open_snapshot, in any process--> the data set; its indices are mapped

The token stores are not in it: they are opened by their names, and must be the same.
"""

import dataclasses
import hashlib
import os
import pickle
from collections.abc import Sequence

from bert_data.causal.gpt import SampleSet
from bert_data.storage import map_file, open_scratch, read_bytes

_ALIGNED = 64  # bytes: what kernels are compiled for, and more


@dataclasses.dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A data set as bytes, of which nothing is copied.

    Attributes:
      head: all but the arrays.
      arrays: memory of the indices.
    """

    head: bytes
    arrays: Sequence[memoryview]

    def arrays_sha256(self) -> str:
        """Return a digest of the indices; all else is that of stores and configuration."""
        digest = hashlib.sha256()
        for array in self.arrays:
            digest.update(f"{array.nbytes} ".encode())
            digest.update(array)
        return digest.hexdigest()

    def save(self, folder: str) -> None:
        """Write the files for `open_snapshot` into a folder."""
        places = []
        with open_scratch(os.path.join(folder, "arrays")) as file:
            for array in self.arrays:
                file.write(bytes(-file.tell() % _ALIGNED))
                places.append((file.tell(), array.nbytes))
                file.write(array)
        with open_scratch(os.path.join(folder, "dataset")) as file:
            file.write(pickle.dumps((self.head, places)))


def take_snapshot(dataset: SampleSet) -> Snapshot:
    """Return the data set as bytes that share the memory of its indices."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(dataset, protocol=5, buffer_callback=buffers.append)
    return Snapshot(head=head, arrays=[buffer.raw() for buffer in buffers])


def open_snapshot(folder: str) -> SampleSet:
    """Return the data set of a snapshot; its indices are read-only.

    Raises:
      ValueError: a token store is another one now.
    """
    head, places = pickle.loads(read_bytes(os.path.join(folder, "dataset")))
    arrays = map_file(os.path.join(folder, "arrays")).data
    buffers = [arrays[start : start + num_bytes] for start, num_bytes in places]
    dataset: SampleSet = pickle.loads(head, buffers=buffers)
    return dataset
