"""GPT indices and blends in plain Python, by the loops that define them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Indices:
    num_epochs: int
    is_last_separate: bool
    documents: list[int]
    rows: list[tuple[int, int]]
    order: list[int]


def indices(
    lengths: Sequence[int],
    documents: tuple[int, int],
    seq_length: int,
    num_samples: int | None,
    seed: int,
    *,
    extra: int = 1,
    drop_last: bool = True,
) -> Indices:
    """The three indices of a data set."""
    tokens = sum(lengths[slice(*documents)])
    epochs = 1
    if num_samples is not None:
        while epochs * tokens < num_samples * seq_length + extra:
            epochs += 1
    separate, sans = False, 0
    if num_samples is not None and epochs > 1:
        sans = ((epochs - 1) * tokens - extra) // seq_length
        per_epoch = (tokens - extra) // seq_length
        separate = num_samples - sans < int(0.80 * per_epoch)
    random = np.random.RandomState(seed)
    joined: list[int] = []
    for count in [epochs - 1, 1] if separate else [epochs]:
        part = np.array(list(range(*documents)) * count, np.int32)
        random.shuffle(part)
        joined += part.tolist()
    rows = sample_rows([lengths[d] for d in joined], seq_length, extra, drop_last)
    count = len(rows) - 1
    order: list[int] = []
    for start, stop in [(0, sans), (sans, count)] if separate else [(0, count)]:
        part = np.arange(start, stop, dtype=np.uint32)
        random.shuffle(part)
        order += part.tolist()
    return Indices(epochs, separate, joined, rows, order)


def sample_rows(
    lengths: Sequence[int], seq_length: int, extra: int, drop_last: bool
) -> list[tuple[int, int]]:
    """The starts of samples, by walking over the documents as Megatron-LM's loop does."""
    usable = sum(lengths) - extra
    count = usable // seq_length if drop_last else math.ceil(usable / seq_length)
    position = offset = 0
    rows = [(0, 0)]
    for _ in range(count):
        left = seq_length + extra
        while True:
            available = lengths[position] - offset
            left -= available
            if left <= 0:
                offset += left + available - extra
                break
            if position == len(lengths) - 1:
                offset = lengths[position] - extra
                break
            position += 1
            offset = 0
        rows.append((position, offset))
    return rows


def texts(
    stories: Sequence[Sequence[int]], indices: Indices, seq_length: int, extra: int
) -> list[list[int]]:
    """The tokens of all samples in their order; what is missing at the end is not there."""
    stream = [token for document in indices.documents for token in stories[document]]
    return [stream[k * seq_length : (k + 1) * seq_length + extra] for k in indices.order]


def batch_row(text: Sequence[int], seq_length: int, eod: int | None, *flags: bool) -> dict:
    """A sample as training takes it; flags: positions, attention, loss."""
    reset_positions, reset_attention, mask_loss = flags
    row: dict[str, list] = {
        "tokens": [], "labels": [], "loss_mask": [], "position_ids": [], "segment_starts": []
    }  # fmt: skip
    for j in range(seq_length):
        ends = [i for i in range(min(j, len(text))) if text[i] == eod]
        start = ends[-1] + 1 if ends else 0
        token = text[j] if j < len(text) else 0
        followed = j + 1 < len(text)
        is_end = j < len(text) and token == eod
        row["tokens"].append(token)
        row["labels"].append(text[j + 1] if followed else 0)
        row["loss_mask"].append(float(followed and not (mask_loss and is_end)))
        row["position_ids"].append(j - start if reset_positions else j)
        row["segment_starts"].append(start if reset_attention else 0)
    return row


def blend(
    weights: Sequence[float], size: int, limits: Sequence[float] | None = None
) -> tuple[list[int], list[int]]:
    """The data set and sample of each output: the largest weight * max(n, 1) - taken."""
    taken = [0] * len(weights)
    chosen, samples = [], []
    for n in range(size):
        scale = max(float(n), 1.0)
        best, largest = -1, -math.inf
        for i, weight in enumerate(weights):
            if limits is not None and taken[i] >= limits[i]:
                continue
            lag = weight * scale - float(taken[i])
            if lag > largest:
                best, largest = i, lag
        chosen.append(best)
        samples.append(taken[best])
        taken[best] += 1
    return chosen, samples
