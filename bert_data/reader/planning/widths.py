"""The few widths that batches are padded to, given or chosen for the least padding.

    lengths 3 3 4 9 9 10, two widths   ->  (4, 10)    padding 2 + 2 tokens; no other two have less

A row is padded to the next width that holds it.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import kernel
from bert_data.reader.planning.config import BUCKETS, DEFAULT_NUM_WIDTHS, PlanConfig


@kernel
def _choose_last_cuts(
    lengths: NDArray[np.int64],
    below: NDArray[np.int64],
    before: NDArray[np.int64],
    best: NDArray[np.int64],
    cuts: NDArray[np.int64],
) -> None:
    """Add one width to the best choices of one width fewer.

    Args:
      lengths: int64[n], ascending.
      below: int64[n + 1], records of the first j lengths.
      before: int64[n + 1], fewest padded tokens of these records with one width fewer.
      best: int64[n + 1], filled: with one width more.
      cuts: int64[n + 1], filled: how many of the first j lengths the widths before the last cover.
    """
    n = lengths.size
    best[0] = cuts[0] = 0
    step = 1
    while 2 * step <= n:
        step *= 2
    while step:
        # The best cut never moves back as j grows, so those of the neighbours bound it.
        for j in range(step, n + 1, 2 * step):
            last = min(j - 1, cuts[j + step]) if j + step <= n else j - 1
            width, count = lengths[j - 1], below[j]
            cut = cuts[j - step]
            least = before[cut] + width * (count - below[cut])
            for i in range(cut + 1, last + 1):
                tokens = before[i] + width * (count - below[i])
                if tokens < least:
                    least, cut = tokens, i
            best[j], cuts[j] = least, cut
        step //= 2


def choose_widths(histogram: NDArray[np.integer], num_widths: int) -> tuple[int, ...]:
    """Choose the widths that pad records to the fewest tokens in all.

    Dynamic programming over the lengths that occur: the fewest for the first j of them with k
    widths is the minimum over i < j of that for the first i with k - 1, plus the j-th length for
    the rest. As the cost is the j-th length times a count, the best i grows with j, and a search
    between the best of neighbours takes O(n log n) per width (Aggarwal et al. 1987, on monotone
    matrices; here by halving).

    Args:
      histogram: int[any], records of each length; at least one.
      num_widths: >= 1.

    Returns:
      At most `num_widths` ascending lengths that occur, ending with the longest.
    """
    lengths = np.flatnonzero(histogram)
    below = np.concatenate(([0], np.cumsum(histogram[lengths], dtype=np.int64)))
    num_widths = min(num_widths, lengths.size)
    best = np.concatenate(([0], lengths * below[1:]))
    cuts = np.zeros((num_widths, lengths.size + 1), np.int64)
    for number in range(1, num_widths):
        before, best = best, np.empty_like(best)
        _choose_last_cuts(lengths, below, before, best, cuts[number])
    widths: list[int] = []
    end = lengths.size
    for number in reversed(range(num_widths)):
        if end:
            widths.append(int(lengths[end - 1]))
            end = int(cuts[number, end])
    return tuple(reversed(widths))


def allowed_widths(histogram: NDArray[np.integer], config: PlanConfig) -> tuple[int, ...] | None:
    """Return the widths that batches of these records may have, or None for any.

    Args:
      histogram: int[max_seq_length + 1], records of each length.
      config: not "packed".
    """
    widths = config.widths
    if widths is None and config.batching == BUCKETS:
        widths = DEFAULT_NUM_WIDTHS
    if isinstance(widths, int):
        return choose_widths(histogram, widths)
    if widths is None or widths[-1] >= histogram.size - 1:
        return widths
    return (*widths, histogram.size - 1)


def next_widths(longest: NDArray[np.integer], widths: tuple[int, ...] | None) -> NDArray[np.int32]:
    """Return the smallest of `widths` that holds each length; with None, the length itself."""
    if widths is None:
        return longest.astype(np.int32)
    return np.array(widths, np.int32)[np.searchsorted(widths, longest)]
