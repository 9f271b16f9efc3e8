"""Document, sample and shuffle index: which tokens are which sample, and in what order.

    documents     0 [a b c]   1 [d e]   2 [f g h i]
    document index  2 0 1             the documents in their shuffled order, epoch after epoch
    joined          f g h i a b c d e
    sample index    (0,0) (0,2) (1,0) (1,2) (2,1)     seq_length 2: samples f g +h, h i +a, ...
    shuffle index   3 0 2 1           the samples in their shuffled order

Row k of the sample index is where sample k begins: a position in the document index and an offset
in that document. Sample k ends where sample k + 1 begins, or one token later. Arrays, dtypes and
random numbers are those of Megatron-LM's GPTDataset: one `numpy.random.RandomState`, used first
for the document index and then for the shuffle index.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from bert_data.checks import MAX_INT32
from bert_data.gpt.store_documents import DocumentRange
from bert_data.kernels import Scalar, kernel
from bert_data.progress import progress

MAX_SAMPLES = 1 << 40
"""Of a data set or a blend; their indices would take more than 16 TB."""

MAX_EPOCHS = 1_000_000
_SEPARATE_BELOW = 0.80  # of an epoch's samples


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpochCounts:
    """The epochs of a data set.

    Attributes:
      seq_length: tokens from one sample's start to the next one's.
      extra_tokens: 1 if a sample has one token more than `seq_length`, which is the next one's
        first; else 0.
      num_samples: number of samples, >= those asked for.
      num_first: samples that are shuffled on their own, before the rest: all of them, or those
        before a separate last epoch.
      is_last_separate: whether the documents and samples of the last epoch are shuffled on their
        own. They are if little of it is needed: each document is then used equally often, or once
        more.
    """

    tokens_per_epoch: int
    seq_length: int
    extra_tokens: int
    num_epochs: int
    num_samples: int
    num_first: int
    is_last_separate: bool
    is_last_partial: bool

    @property
    def samples_per_epoch(self) -> float:
        """Samples that one pass over the documents gives."""
        return max(self.tokens_per_epoch - self.extra_tokens, 1) / self.seq_length


def plan_epochs(
    tokens_per_epoch: int,
    seq_length: int,
    num_samples: int | None,
    *,
    add_extra_token: bool = True,
    drop_last_partial: bool = True,
) -> EpochCounts:
    """Find the fewest epochs that give the samples; None: those of one epoch."""
    extra = int(add_extra_token)
    num_epochs = 1
    if num_samples is not None:
        num_epochs = max(1, -(-(num_samples * seq_length + extra) // tokens_per_epoch))
    usable = num_epochs * tokens_per_epoch - extra
    num_whole, num_left = divmod(usable, seq_length)
    is_partial = not drop_last_partial and num_left > 0
    num_made = num_whole + int(is_partial)
    if num_made < 1:
        raise ValueError(
            f"seq_length is {seq_length:,}, but one epoch has {tokens_per_epoch:,} tokens; at most "
            f"{tokens_per_epoch - extra:,} is allowed"
        )
    num_before = (usable - tokens_per_epoch) // seq_length
    separate = False
    if num_samples is not None and num_epochs > 1:
        per_epoch = (tokens_per_epoch - extra) // seq_length
        separate = num_samples - num_before < int(_SEPARATE_BELOW * per_epoch)
    return EpochCounts(
        tokens_per_epoch=tokens_per_epoch,
        seq_length=seq_length,
        extra_tokens=extra,
        num_epochs=num_epochs,
        num_samples=num_made,
        num_first=num_before if separate else num_made,
        is_last_separate=separate,
        is_last_partial=is_partial,
    )


def count_samples(
    tokens_per_epoch: int, seq_length: int, num_epochs: int, *, add_extra_token: bool = True
) -> int:
    """Whole samples in some epochs."""
    return (num_epochs * tokens_per_epoch - int(add_extra_token)) // seq_length


MAX_UINT32 = 2**32 - 1
ROWS_AT_ONCE = 1 << 22


def build_document_index(
    documents: DocumentRange, plan: EpochCounts, random: np.random.RandomState
) -> NDArray[np.int32]:
    """Return the documents of all epochs, shuffled together, except for a separate last epoch."""
    parts = [plan.num_epochs - 1, 1] if plan.is_last_separate else [plan.num_epochs]
    num_documents = documents[1] - documents[0]
    index = np.tile(np.arange(*documents, dtype=np.int32), plan.num_epochs)
    start = 0
    for num_epochs in parts:
        stop = start + num_epochs * num_documents
        random.shuffle(index[start:stop])
        start = stop
    return index


def sample_index_dtype(num_positions: int, longest_document: int) -> np.dtype:
    """Return the dtype of a sample index: int32 if positions and offsets fit, else int64."""
    return np.dtype(np.int32 if max(num_positions, longest_document) <= MAX_INT32 else np.int64)


@kernel
def fill_sample_index(
    lengths: NDArray[np.int32],
    document_index: NDArray[np.uint32],
    seq_length: Scalar,
    shift: Scalar,
    first: Scalar,
    state: NDArray[np.int64],
    rows: NDArray[np.signedinteger],
) -> None:
    """Find where samples begin.

    Sample k begins `shift` tokens after token k * seq_length - shift of the joined documents, in
    the document that holds that token. The caller ensures that the token exists.

    Args:
      lengths: int32[documents], tokens in each, >= 0.
      document_index: uint32[positions], the documents in their order; unsigned, so that no negative
        index has to be checked for.
      seq_length: >= 1.
      shift: 0 if samples have an extra token, else 1.
      first: number k of the sample in the first row, >= `shift`.
      state: int64[2], updated: the current position, and the tokens before it.
      rows: int32 or int64[samples, 2], filled: positions and offsets.
    """
    position, before = state[0], state[1]
    end = before + lengths[document_index[position]]
    token = first * seq_length - shift
    for row in range(rows.shape[0]):
        while token >= end:
            before = end
            position += 1
            end += lengths[document_index[position]]
        rows[row, 0] = position
        rows[row, 1] = token - before + shift
        token += seq_length
    state[0], state[1] = position, before


def build_sample_index(
    lengths: NDArray[np.int32], document_index: NDArray[np.int32], plan: EpochCounts
) -> NDArray[np.signedinteger]:
    """Return where each sample begins, and where the last one ends.

    Returns:
      int32 or int64[samples + 1, 2], see `sample_index_dtype`: positions in the document index, and
      offsets in that document. Without an extra token an offset may be the document's length.
    """
    longest = int(lengths.max()) if lengths.size else 0
    index = np.empty((plan.num_samples + 1, 2), sample_index_dtype(document_index.size, longest))
    index[0] = 0
    last = plan.num_samples - int(plan.is_last_partial)
    state = np.zeros(2, np.int64)
    order = document_index.view(np.uint32)
    with progress("sample index", total=last, unit="sample") as advance:
        for start in range(1, last + 1, ROWS_AT_ONCE):
            rows = index[start : min(start + ROWS_AT_ONCE, last + 1)]
            fill_sample_index(
                lengths, order, plan.seq_length, 1 - plan.extra_tokens, start, state, rows
            )
            advance(rows.shape[0])
    if plan.is_last_partial:
        index[-1] = (document_index.size - 1, int(lengths[document_index[-1]]) - plan.extra_tokens)
    return index


def shuffle_index_dtype(num_samples: int) -> np.dtype:
    """Return the dtype of a shuffle index: uint32, or int64 from 2**32 - 2 samples on."""
    return np.dtype(np.uint32 if num_samples < MAX_UINT32 - 1 else np.int64)


def build_shuffle_index(plan: EpochCounts, random: np.random.RandomState) -> NDArray[np.integer]:
    """Return the order of the samples; those of a separate last epoch are shuffled separately."""
    index = np.arange(plan.num_samples, dtype=shuffle_index_dtype(plan.num_samples))
    random.shuffle(index[: plan.num_first])
    if plan.num_first < plan.num_samples:
        random.shuffle(index[plan.num_first :])
    return index
