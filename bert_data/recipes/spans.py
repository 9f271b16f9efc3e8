"""T5's span corruption: inputs without some spans of the tokens, and targets that are these spans.

    tokens    Thank you for inviting me to your party last week
    inputs    Thank you <extra_id_0> me to your party <extra_id_1> week </s>
    targets   <extra_id_0> for inviting <extra_id_1> last </s>

How many tokens and spans are noise follows from the length alone; where they are is drawn, each way
being equally likely. So tokens can be cut such that inputs fill their room.

Source: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer" (JMLR 2020); text-to-text-transfer-transformer, t5/data/preprocessors.py.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.layout import BEGIN, COLUMNS, ROWS, STRIDE, Layout
from bert_data.reader.splitmix import draw_below, next_bits
from bert_data.schema import fields
from bert_data.schema.fields import Axis, Field, Role
from bert_data.tokens.vocabulary import TokenTable

TARGET_IDS = Field("target_ids", fields.INT32, Axis.PREDICTIONS, Role.IDS)
TARGET_MASK = Field("target_mask", fields.INT32, Axis.PREDICTIONS, Role.WEIGHTS)
LAYOUT: Layout = ((fields.INPUT_IDS, fields.INPUT_MASK), (TARGET_IDS, TARGET_MASK), ())
SENTINEL = "<extra_id_{}>"
MIN_SPAN_RATE, MAX_SPAN_RATE = 0.01, 0.9
_NUMBERS = range(1 << 16)
_INPUTS, _TARGETS = range(2)


class SpanLengths(NamedTuple):
    """Lengths of sequences of which spans are taken.

    Attributes:
      tokens: most tokens of a sequence before.
      inputs, targets: most tokens after, the end included.
    """

    tokens: int
    inputs: int
    targets: int


class SpanRule(NamedTuple):
    """The spans to take, and the tokens to add.

    Attributes:
      lengths: of its sequences.
      rate: share of tokens in spans.
      sentinels: int32[any], in the order of spans.
      end_id: of the token behind inputs and targets.
    """

    lengths: SpanLengths
    rate: float
    mean_span_length: float
    sentinels: NDArray[np.int32]
    end_id: int


class Corrupted(NamedTuple):
    """Sequences of which spans are taken, one a row.

    Attributes:
      tokens: int32[any], those of all sequences.
      splits: int64[sequences + 1], where each one's begin; an empty row has none.
      num_noise, num_spans: int64[sequences], see `count_noise`.
      keys: uint64[sequences], that spans are drawn from.
    """

    tokens: NDArray[np.int32]
    splits: NDArray[np.int64]
    num_noise: NDArray[np.int64]
    num_spans: NDArray[np.int64]
    keys: NDArray[np.uint64]


def count_noise(
    lengths: NDArray[np.int64], rate: float, mean_span_length: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many tokens of sequences become targets, and in how many spans.

    At least one token stays between two spans; a single token stays, with a span of none behind it.
    """
    wanted = np.rint(lengths * rate).astype(np.int64)
    num_noise = np.maximum(np.minimum(np.maximum(wanted, 1), lengths - 1), 0)
    num_spans = np.rint(num_noise / mean_span_length).astype(np.int64)
    return num_noise, np.maximum(np.minimum(num_spans, lengths - num_noise), 1)


def find_lengths(inputs: int, rate: float, mean_span_length: float) -> tuple[int, int]:
    """Return the tokens of a sequence whose inputs fill `inputs`, and the length of its targets.

    Both are those of T5's `random_spans_helper`: one token less at a rate of a half, where targets
    would be longer than inputs.
    """
    lengths = np.arange(inputs - 1, int(inputs / (1 - rate)) + 3)
    num_noise = np.rint(lengths * rate).astype(np.int64)
    num_spans = np.rint(num_noise / mean_span_length).astype(np.int64)
    found = int(np.searchsorted(lengths - num_noise + num_spans + 1, inputs, side="right")) - 1
    tokens, targets = int(lengths[found]), int(num_noise[found] + num_spans[found] + 1)
    if rate == 0.5 and targets > tokens - num_noise[found] + num_spans[found] + 1:
        return tokens - 1, targets - 1
    return tokens, targets


def span_lengths(inputs: int, rate: float, mean_span_length: float) -> SpanLengths:
    """Return the lengths of a stage; where a span is needed that T5 forgets, tokens are fewer."""
    tokens, _ = find_lengths(inputs, rate, mean_span_length)
    lengths = np.arange(1, tokens + 1)
    num_noise, num_spans = count_noise(lengths, rate, mean_span_length)
    fits = lengths - num_noise + num_spans + 1 <= inputs
    tokens = int(lengths[fits][-1])
    return SpanLengths(tokens, inputs, int((num_noise + num_spans + 1)[:tokens].max()))


def span_rule(
    vocabulary: TokenTable,
    lengths: SpanLengths,
    *,
    rate: float,
    mean_span_length: float,
    num_sentinels: int | None,
) -> SpanRule:
    """Find the tokens that are added.

    Args:
      num_sentinels: so many of the last ids are sentinels, from the last one down; None: the tokens
        <extra_id_0>, <extra_id_1>, ... are.
    """
    _, counts = count_noise(np.arange(1, lengths.tokens + 1), rate, mean_span_length)
    needed = int(counts.max())
    if num_sentinels is None:
        names = itertools.takewhile(vocabulary.ids.__contains__, map(SENTINEL.format, _NUMBERS))
        sentinels = [vocabulary.ids[name] for name in names]
        has = f"{vocabulary.path} has {len(sentinels) or 'none'}; num_sentinels takes its last ids"
    else:
        sentinels = list(range(vocabulary.size - 1, vocabulary.size - 1 - num_sentinels, -1))
        has = f"num_sentinels is {num_sentinels}"
    if len(sentinels) < needed:
        raise ValueError(
            f"t5_spans needs {needed} sentinels, {SENTINEL.format(0)} and so on, for"
            f" {lengths.inputs} tokens: {has}"
        )
    if vocabulary.sep_id < 0:
        raise ValueError(f"t5_spans needs a token for the end, which {vocabulary.path} has not")
    return SpanRule(
        lengths, rate, mean_span_length, np.array(sentinels, np.int32), vocabulary.sep_id
    )


@inner
def _choose(key: np.uint64, number: Scalar, limit: Scalar, marks: NDArray[np.bool_]) -> np.uint64:
    """Mark some of the first places, each choice being equally likely.

    Source: R. Floyd, in J. Bentley, "A sample of brilliance" (CACM 30, 1987).
    """
    for last in range(limit - number, limit):
        key, place = draw_below(key, last + 1)
        if marks[place]:
            place = np.int64(last)
        marks[place] = True
    return key


@kernel
def _corrupt(
    given: Corrupted,
    batch_splits: NDArray[np.int64],
    sentinels: NDArray[np.int32],
    end_id: Scalar,
    table: NDArray[np.int32],
    kept_marks: NDArray[np.bool_],
    noise_marks: NDArray[np.bool_],
    words: NDArray[np.int32],
) -> None:
    for batch in range(table.shape[0]):
        inputs, targets = table[batch, _INPUTS], table[batch, _TARGETS]
        for row in range(inputs[ROWS]):
            i = batch_splits[batch] + row
            x = begin_x = np.int64(inputs[BEGIN]) + row * np.int64(inputs[COLUMNS])
            y = begin_y = np.int64(targets[BEGIN]) + row * np.int64(targets[COLUMNS])
            at, end = given.splits[i], given.splits[i + 1]
            if at < end:
                num_noise, num_spans = given.num_noise[i], given.num_spans[i]
                num_kept = end - at - num_noise
                kept_marks[:num_kept] = False
                noise_marks[:num_noise] = False
                _, key = next_bits(given.keys[i])
                if num_noise > 0:
                    key = _choose(key, num_spans - 1, num_noise - 1, noise_marks)
                _choose(key, num_spans - 1, num_kept - 1, kept_marks)
                kept = noise = np.int64(0)
                for span in range(num_spans):
                    begins = True
                    while kept < num_kept and (begins or not kept_marks[kept - 1]):
                        words[x] = given.tokens[at]
                        x, at, kept, begins = x + 1, at + 1, kept + 1, False
                    words[y] = sentinels[span]
                    y, begins = y + 1, True
                    if num_noise > 0:
                        words[x] = sentinels[span]
                        x += 1
                    while noise < num_noise and (begins or not noise_marks[noise - 1]):
                        words[y] = given.tokens[at]
                        y, at, noise, begins = y + 1, at + 1, noise + 1, False
                words[x] = words[y] = end_id
                x, y = x + 1, y + 1
            _finish(words, begin_x, x, inputs)
            _finish(words, begin_y, y, targets)


@inner
def _finish(words: NDArray[np.int32], begin: Scalar, end: Scalar, entry: NDArray[np.int32]) -> None:
    """Write zeros behind the ids of a row, and its mask."""
    stride = np.int64(entry[STRIDE])
    for place in range(begin, begin + np.int64(entry[COLUMNS])):
        if place >= end:
            words[place] = 0
        words[place + stride] = np.int32(place < end)


def corrupt(
    tokens: NDArray[np.int32],
    splits: NDArray[np.int64],
    keys: NDArray[np.uint64],
    batch_splits: NDArray[np.int64],
    rule: SpanRule,
    table: NDArray[np.int32],
    words: NDArray[np.int32],
) -> None:
    """Fill batches with inputs and targets.

    Args:
      tokens: int32[any], those of all sequences.
      splits: int64[sequences + 1], where each one's begin; an empty row has none.
      keys: uint64[sequences], that spans are drawn from.
      batch_splits: int64[batches + 1], the sequences of each batch, one a row.
      table: int32[batches, 15], see `make_table`; the sections are those of `LAYOUT`.
      words: int32[any], filled as the table says.
    """
    lengths = np.diff(splits)
    num_noise, num_spans = count_noise(lengths, rule.rate, rule.mean_span_length)
    given = Corrupted(tokens, splits, num_noise, num_spans, keys)
    marks = np.empty((2, int(lengths.max(initial=0)) + 1), np.bool_)
    _corrupt(
        given, batch_splits, rule.sentinels, rule.end_id, table.reshape(len(table), 3, -1),
        marks[0], marks[1], words,
    )  # fmt: skip
