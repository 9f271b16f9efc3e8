"""Kernels that gather the tokens of samples from a store, and derive what training needs.

tokens          5 9 7 8 | 4 6      9 ends documents
labels          9 7 8 4 | 6 .
loss_mask       1 0 1 1 | 1 1      eod_mask_loss: nothing predicts the token after a document's end
position_ids    0 1 0 1   2 3      reset_position_ids
segment_starts  0 0 2 2   2 2      reset_attention_mask: i attends to segment_starts[i] through i
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel

WHOLE = -1
BAD_INDEX, BAD_TOKEN = 0, 1

_MAX_ID = 2**31 - 1


class SampleSource(NamedTuple):
    """Arrays that the samples of a data set are gathered from.

    Attributes:
      ids: [tokens] of the store, any integer type.
      lengths: int32[documents], tokens in each.
      offsets: int64[documents], the byte at which each begins.
      document_index, sample_index, shuffle_index: see `bert_data.gpt.indices`.
    """

    ids: NDArray[np.integer]
    lengths: NDArray[np.int32]
    offsets: NDArray[np.int64]
    document_index: NDArray[np.int32]
    sample_index: NDArray[np.signedinteger]
    shuffle_index: NDArray[np.integer]


class SampleBatch(NamedTuple):
    """Samples in the form that training takes.

    Attributes:
      tokens: int32[rows, seq_length], >= 0.
      labels: int32[rows, seq_length], the token that follows each; 0 if there is none.
      loss_mask: float32[rows, seq_length], 1.0 where the label counts, else 0.0.
      position_ids: int32[rows, seq_length], >= 0.
      segment_starts: int32[rows, seq_length], the first position that each attends to; the last one
        is itself.
    """

    tokens: NDArray[np.int32]
    labels: NDArray[np.int32]
    loss_mask: NDArray[np.float32]
    position_ids: NDArray[np.int32]
    segment_starts: NDArray[np.int32]


@kernel
def gather_texts(
    source: SampleSource,
    samples: NDArray[np.int64],
    rows: NDArray[np.int64],
    extra_tokens: Scalar,
    is_last_partial: Scalar,
    texts: NDArray[np.int32],
    num_tokens: NDArray[np.int32],
) -> Scalar:
    """Copy the tokens of samples, each from one or more documents.

    The indices may come from a damaged file, so every bound is checked before it is used.

    Args:
      samples: int64[samples], positions in the shuffle index.
      rows: int64[samples], the row of `texts` for each.
      extra_tokens: 1 or 0, see `EpochCounts`.
      is_last_partial: whether the last sample of the sample index may be short.
      texts: int32[any, tokens per sample], filled in those rows, short ones padded with 0.
      num_tokens: int32[any], filled in those rows: the number of tokens without padding.

    Returns:
      WHOLE, or 2 * (position in `samples`) + BAD_INDEX or BAD_TOKEN of the first damaged one.
    """
    ids, lengths, offsets = source.ids, source.lengths, source.offsets
    document_index, sample_index = source.document_index, source.sample_index
    num_samples = sample_index.shape[0] - 1
    width = texts.shape[1]
    for i in range(samples.size):
        row = rows[i]
        sample = np.int64(source.shuffle_index[samples[i]])
        if sample < 0 or sample >= num_samples:
            return 2 * i + BAD_INDEX
        first, start = np.int64(sample_index[sample, 0]), np.int64(sample_index[sample, 1])
        last, stop = np.int64(sample_index[sample + 1, 0]), np.int64(sample_index[sample + 1, 1])
        if first < 0 or last < first or last >= document_index.size:
            return 2 * i + BAD_INDEX
        at = np.int64(0)
        signs = np.int64(0)
        for position in range(first, last + 1):
            document = np.int64(document_index[position])
            if document < 0 or document >= lengths.size:
                return 2 * i + BAD_INDEX
            begin = start if position == first else np.int64(0)
            end = stop + extra_tokens if position == last else np.int64(lengths[document])
            if begin < 0 or end < begin or end > lengths[document] or at + end - begin > width:
                return 2 * i + BAD_INDEX
            token = offsets[document] // ids.itemsize + begin
            for _ in range(end - begin):
                value = np.int64(ids[token])
                signs |= value | (_MAX_ID - value)
                texts[row, at] = value
                token += 1
                at += 1
        if signs < 0:
            return 2 * i + BAD_TOKEN
        if at < width and not (is_last_partial and sample == num_samples - 1):
            return 2 * i + BAD_INDEX
        num_tokens[row] = at
        for j in range(at, width):
            texts[row, j] = 0
    return WHOLE


@kernel
def derive_batch(
    texts: NDArray[np.int32],
    num_tokens: NDArray[np.int32],
    eod_id: Scalar,
    reset_position_ids: Scalar,
    reset_attention_mask: Scalar,
    eod_mask_loss: Scalar,
    batch: SampleBatch,
) -> None:
    """Fill a batch from the tokens of samples.

    Args:
      texts: int32[rows, tokens per sample]; `seq_length` or one more.
      num_tokens: int32[rows], tokens without padding.
      eod_id: the end-of-document token; -1: there is none.
    """
    seq_length = batch.tokens.shape[1]
    for row in range(texts.shape[0]):
        start = np.int64(0)
        for j in range(seq_length):
            token = texts[row, j]
            is_followed = j + 1 < num_tokens[row]
            is_end = token == eod_id and j < num_tokens[row]
            batch.tokens[row, j] = token
            batch.labels[row, j] = texts[row, j + 1] if is_followed else 0
            counts = is_followed and not (is_end and eod_mask_loss)
            batch.loss_mask[row, j] = 1.0 if counts else 0.0
            batch.position_ids[row, j] = j - start if reset_position_ids else j
            batch.segment_starts[row, j] = start if reset_attention_mask else 0
            if is_end:
                start = np.int64(j + 1)


def new_batch(num_rows: int, seq_length: int) -> SampleBatch:
    """Allocate a batch in one piece; several would be returned to the system after each batch."""
    words = np.empty((len(SampleBatch._fields), num_rows, seq_length), np.int32)
    tokens, labels, loss_mask, position_ids, segment_starts = words
    return SampleBatch(tokens, labels, loss_mask.view(np.float32), position_ids, segment_starts)


def causal_mask(segment_starts: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which positions attend to which; the opposite of Megatron-LM's `attention_mask`.

    Args:
      segment_starts: int32[..., seq_length].

    Returns:
      bool[..., seq_length, seq_length]: whether the first position attends to the second.
    """
    positions = np.arange(segment_starts.shape[-1])
    is_before = positions[None, :] <= positions[:, None]
    return is_before & (positions >= segment_starts[..., :, None])
