"""A GPT data set: samples of equal length from the documents of one token store.

Documents are shuffled, joined and cut; samples are shuffled again. They are the samples of
Megatron-LM's GPTDataset, in the same order.
"""

import abc
import dataclasses
import functools
import hashlib
import operator
import os
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.checks import check_integer
from bert_data.errors import CorruptDataError
from bert_data.gpt.cache import IndexArrays, IndexCache, check_array
from bert_data.gpt.gpt_config import GptConfig
from bert_data.gpt.indices import (
    MAX_SAMPLES,
    EpochCounts,
    build_document_index,
    build_sample_index,
    build_shuffle_index,
    plan_epochs,
    sample_index_dtype,
    shuffle_index_dtype,
)
from bert_data.gpt.sample_kernels import (
    BAD_TOKEN,
    WHOLE,
    SampleBatch,
    SampleSource,
    derive_batch,
    gather_texts,
    new_batch,
)
from bert_data.gpt.store_documents import StoreDocuments
from bert_data.storage import map_file, open_scratch, read_bytes
from bert_data.tokens.store_files import store_paths

_NAMES = ("document_index", "sample_index", "shuffle_index")


Numbers = Sequence[int] | NDArray[np.integer]


class SampleSet(abc.ABC):
    """Samples by number: a `GptDataset` or a blend of several."""

    config: GptConfig
    split: str

    @property
    @abc.abstractmethod
    def stores(self) -> Sequence[StoreDocuments]:
        """The token stores."""

    @property
    def paths(self) -> list[str]:
        """The files of the token stores."""
        return [path for store in self.stores for path in store_paths(store.prefix)]

    @abc.abstractmethod
    def __len__(self) -> int:
        """Return the number of samples."""

    @abc.abstractmethod
    def gather(
        self,
        samples: NDArray[np.int64],
        rows: NDArray[np.int64],
        texts: NDArray[np.int32],
        num_tokens: NDArray[np.int32],
    ) -> None:
        """Gather the tokens of samples, which exist, into rows; see `gather_texts`."""

    def texts(self, numbers: Numbers) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the tokens of samples.

        Args:
          numbers: of the samples, each in [0, len(self)).

        Returns:
          int32[samples, config.sample_tokens], 0 after their end; int32[samples], how many
          are there.

        Raises:
          IndexError: there is no such sample.
          CorruptDataError: an index or the store is damaged.
        """
        samples = _checked_numbers(numbers, len(self))
        texts = np.empty((samples.size, self.config.sample_tokens), np.int32)
        num_tokens = np.empty(samples.size, np.int32)
        self.gather(samples, np.arange(samples.size), texts, num_tokens)
        return texts, num_tokens

    def __getitem__(self, number: int) -> dict[str, Any]:
        """One sample, see `SampleBatch`; whole numbers are int64, as in Megatron-LM.

        Raises:
          IndexError: there is no such sample; negative numbers count from the end.
        """
        place = operator.index(number)
        if not -len(self) <= place < len(self):
            raise IndexError(f"sample {place} of {len(self):,}; they count from 0")
        return {
            name: values[0] if name == "loss_mask" else values[0].astype(np.int64)
            for name, values in self.batch([place % len(self)])._asdict().items()
        }

    def batch(self, numbers: Numbers) -> SampleBatch:
        """Return samples side by side; see `texts`."""
        texts, num_tokens = self.texts(numbers)
        batch = new_batch(texts.shape[0], self.config.seq_length)
        fill_batch(texts, num_tokens, self.config, batch)
        return batch


class GptDataset(SampleSet):
    """Samples from one token store, all or one split of it.

    Attributes:
      document_range: first document of the split and the one after the last.
      document_index: int32[positions].
      sample_index: int32 or int64[samples + 1, 2].
      shuffle_index: uint32 or int64[samples].
    """

    def __init__(
        self,
        documents: StoreDocuments | str,
        config: GptConfig,
        *,
        split: str = "train",
        num_samples: int | None = None,
    ) -> None:
        """Build the indices, or load them from `config.cache_dir`.

        Args:
          documents: an open store, or the prefix of one.
          split: one of `SPLITS`.
          num_samples: number of samples, >= 1; None: those of one epoch. There may be more.

        Raises:
          ValueError: the split has no tokens or too few for a sample, or the store holds sentences.
          CorruptDataError: the store or the cache is damaged.
        """
        if num_samples is not None:
            num_samples = check_integer("num_samples", num_samples, 1, MAX_SAMPLES)
        if isinstance(documents, str):
            documents = StoreDocuments(documents, verify=config.verify)
        self.documents = documents
        self.config = config
        self.split = split
        self.document_range = self.documents.of_split(config.split, split)
        self.plan = plan_split(self.documents, config, split, num_samples)
        self._cache = self._name_cache(num_samples)
        arrays = self._cache.load_or_make(_NAMES, self._make)
        self.document_index, self.sample_index, self.shuffle_index = (arrays[n] for n in _NAMES)
        self._check()

    @functools.cached_property
    def _source(self) -> SampleSource:
        store = self.documents.store
        return SampleSource(
            ids=store.ids,
            lengths=store.lengths,
            offsets=store.offsets,
            document_index=self.document_index,
            sample_index=self.sample_index,
            shuffle_index=self.shuffle_index,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_source"}

    def _name_cache(self, num_samples: int | None) -> IndexCache:
        config = self.config
        made_from: dict[str, Any] = {}
        if config.cache_dir is not None:
            made_from = {
                "lengths_sha256": self.documents.lengths_sha256,
                "documents": self.document_range,
                "num_samples": num_samples,
                "random_seed": config.seed,
                "sequence_length": config.seq_length,
                "add_extra_token_to_sequence": config.add_extra_token_to_sequence,
                "drop_last_partial_sequence": config.drops_last_partial(self.split),
            }
        return IndexCache(
            config.cache_dir, "GPTDataset", self.split, made_from, verify=config.verify
        )

    def _make(self) -> IndexArrays:
        random = np.random.RandomState(self.config.seed)
        document_index = build_document_index(self.document_range, self.plan, random)
        lengths = self.documents.store.lengths
        return {
            "document_index": document_index,
            "sample_index": build_sample_index(lengths, document_index, self.plan),
            "shuffle_index": build_shuffle_index(self.plan, random),
        }

    def _check(self) -> None:
        """Check types and shapes; what is in them is checked when it is used."""
        first, stop = self.document_range
        num_positions = self.plan.num_epochs * (stop - first)
        longest = int(self.documents.store.lengths.max())
        num_samples = self.plan.num_samples
        kinds = (
            (np.dtype(np.int32), (num_positions,)),
            (sample_index_dtype(num_positions, longest), (num_samples + 1, 2)),
            (shuffle_index_dtype(num_samples), (num_samples,)),
        )
        for name, (dtype, shape) in zip(_NAMES, kinds, strict=True):
            check_array(self._cache.path(name), getattr(self, name), dtype, shape)

    @property
    def stores(self) -> Sequence[StoreDocuments]:
        """The token store."""
        return (self.documents,)

    def __len__(self) -> int:
        return self.plan.num_samples

    def gather(
        self,
        samples: NDArray[np.int64],
        rows: NDArray[np.int64],
        texts: NDArray[np.int32],
        num_tokens: NDArray[np.int32],
    ) -> None:
        """Gather tokens of samples into rows, see `SampleSet.gather`."""
        plan = self.plan
        self._check_sizes()
        result = gather_texts(
            self._source, samples, rows, plan.extra_tokens, plan.is_last_partial, texts, num_tokens
        )
        self._check_sizes()  # the end of a file that was truncated meanwhile reads as zeros
        if result == WHOLE:
            return
        place, kind = divmod(result, 2)
        if kind == BAD_TOKEN:
            path = self.documents.prefix + ".bin"
            reason = f"sample {samples[place]} has a token id that is not in [0, 2**31)"
        else:
            path = self._cache.path("sample_index")
            reason = (
                f"sample {samples[place]} is not within the documents (this file, or the "
                "document_index or shuffle_index beside it); remove it to make it again"
            )
        raise CorruptDataError(path, 0, reason)

    def _check_sizes(self) -> None:
        """Check that no file has been truncated, as a kernel that reads it would be killed."""
        self.documents.store.check_sizes()
        for each in self._cache.maps:
            each.check_size()


def plan_split(
    documents: StoreDocuments, config: GptConfig, split: str, num_samples: int | None
) -> EpochCounts:
    """Plan the epochs of a split of a store."""
    return plan_epochs(
        documents.count_tokens(documents.of_split(config.split, split)),
        config.seq_length,
        num_samples,
        add_extra_token=config.add_extra_token_to_sequence,
        drop_last_partial=config.drops_last_partial(split),
    )


def _checked_numbers(numbers: Numbers, num_samples: int) -> NDArray[np.int64]:
    """Return numbers of samples as an array; refuse others than integers in [0, num_samples)."""
    array = np.asarray(numbers)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"numbers of samples must be integers, not {array.dtype}")
    samples = np.ascontiguousarray(array, np.int64)
    outside = samples[(samples < 0) | (samples >= num_samples)]
    if outside.size:
        raise IndexError(f"sample {outside[0]} of {num_samples:,}; they count from 0")
    return samples


def fill_batch(
    texts: NDArray[np.int32], num_tokens: NDArray[np.int32], config: GptConfig, batch: SampleBatch
) -> None:
    """Fill a batch from the tokens of samples, see `derive_batch`."""
    derive_batch(
        texts,
        num_tokens,
        -1 if config.eod_id is None else config.eod_id,
        config.reset_position_ids,
        config.reset_attention_mask,
        config.eod_mask_loss,
        batch,
    )


_ALIGNED = 64  # bytes: what kernels are compiled for, and more


@dataclasses.dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A data set as bytes, from which other processes open it without making its indices again.

    The token stores are not in it: they are opened by their names, and must be the same.

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
    """Return the data set of a snapshot; its indices are read-only."""
    head, places = pickle.loads(read_bytes(os.path.join(folder, "dataset")))
    arrays = map_file(os.path.join(folder, "arrays")).data
    buffers = [arrays[start : start + num_bytes] for start, num_bytes in places]
    dataset: SampleSet = pickle.loads(head, buffers=buffers)
    return dataset
