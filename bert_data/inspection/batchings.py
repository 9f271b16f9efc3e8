"""Compare the ways to batch a set: batches, shapes, padding and the speed to expect.

    lengths of all records, 32 rows a batch  ->  max      128 wide    10.2% padding   1.00x
                                                 plain    71-128      10.1%           1.00x
                                                 pools    5-128        0.7%           1.12x ...

Each way is planned as the reader plans it. The speed is that of the encoder's matrix products: a
layer of hidden size h takes 24 h**2 operations for a token and, for attention, 4 h more for every
token of its row (Kaplan et al. 2020, arXiv 2001.08361, section 2.1). So a batch of r rows of width
w costs r w (1 + w / 6h), padding included. What a model computes once for each instance or
prediction, and what a device loses to small or new shapes, is left out.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.bounds import check_integer
from bert_data.reader.config import STREAM, WIDTH_MAX, ReaderConfig
from bert_data.reader.planned import plan_config
from bert_data.reader.planning import EpochPlan, make_plan
from bert_data.reader.planning.config import BUCKETS, PACKED, PLAIN, POOLS

BASE_HIDDEN_SIZE = 768
"""Of BERT-Base."""

MAX = "max"
"""The way whose speed is 1: every row as wide as the longest allowed."""


_MOST = {
    "batch_size": 2**31 - 1,
    "max_tokens_per_batch": 2**31 - 1,
    "max_seq_length": 1 << 20,
    "pool_batches": 1_000_000,
    "num_buckets": 1_000_000,
    "hidden_size": 1 << 20,
}
"""The largest settings that are allowed; the smallest is 1."""

_FLAGS = {"width": "batch_width"}  # of run_pretraining.py, where they differ from the reader's


@dataclasses.dataclass(frozen=True, kw_only=True)
class Batching:
    """One way to batch a set.

    Attributes:
      name: of the way.
      flags: of run_pretraining.py.
      reader: the same as arguments of `ReaderConfig`.
      num_batches: of an epoch.
      num_tokens, num_padded: of all batches, without and with padding.
      num_shapes: different rows and widths.
      speed: records a second, compared with the way `MAX`.
    """

    name: str
    flags: str
    reader: str
    num_batches: int
    num_tokens: int
    num_padded: int
    min_width: int
    max_width: int
    num_widths: int
    num_shapes: int
    speed: float

    @property
    def padding(self) -> float:
        """The share of tokens that are padding."""
        return 1 - self.num_tokens / self.num_padded

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**dataclasses.asdict(self), "padding": self.padding}


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchingConfig:
    """Configuration of `compare_batchings`.

    Attributes:
      batch_size: rows of a batch, in [1, 2**31); None with max_tokens_per_batch.
      max_tokens_per_batch: most tokens of a batch, padding included, in [1, 2**31); None with
        batch_size.
      max_seq_length: longest row that the model takes, in [1, 2**20]; None for the longest record.
      pool_batches, num_buckets: as of `ReaderConfig`, in [1, 10**6].
      hidden_size: of the model, in [1, 2**20].
      seed: of the order of records.
      is_stream: whether records can only be read as a stream.
    """

    batch_size: int | None = None
    max_tokens_per_batch: int | None = None
    max_seq_length: int | None = None
    pool_batches: int = 64
    num_buckets: int = 8
    hidden_size: int = BASE_HIDDEN_SIZE
    seed: int = 0
    is_stream: bool = False

    def __post_init__(self) -> None:
        for name, most in _MOST.items():
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1, most)
        self.as_reader(batching=PLAIN, pool_batches=self.pool_batches, num_buckets=self.num_buckets)

    def as_reader(self, **options: Any) -> ReaderConfig:
        """Return a reader's configuration of these batches, of any files."""
        return ReaderConfig(
            input_patterns="any",
            batch_size=self.batch_size,
            max_tokens_per_batch=self.max_tokens_per_batch,
            shuffle=True,
            seed=self.seed,
            **options,
        )


def compare_batchings(
    lengths: NDArray[np.unsignedinteger], config: BatchingConfig
) -> list[Batching]:
    """Plan an epoch in every way.

    Args:
      lengths: uint[records], tokens of each.

    Raises:
      ValueError: there are no records, one is too long, or they do not make a batch.
    """
    if not lengths.size:
        raise ValueError("there are no records to batch")
    longest = config.max_seq_length or int(lengths.max())
    batchings: list[Batching] = []
    cost_of_max = 0.0
    for name, options in _ways(config):
        reader = config.as_reader(**options)
        if config.is_stream:
            options["batching"] = STREAM  # the same batches, but for the order of records
        plan = make_plan(lengths, plan_config(reader, 1, longest))
        epoch = plan.epoch(0)
        rows, widths = np.diff(epoch.batch_splits), epoch.widths.astype(np.int64)
        cost = _cost(epoch, config.hidden_size)
        cost_of_max = cost_of_max or cost
        batchings.append(
            Batching(
                name=options["batching"] if name != MAX else MAX,
                flags=" ".join(f"--{_FLAGS.get(k, k)}={v}" for k, v in options.items()),
                reader=", ".join(f"{k}={v!r}" for k, v in options.items()),
                num_batches=epoch.num_batches,
                num_tokens=plan.num_tokens,
                num_padded=epoch.num_padded_tokens,
                min_width=int(widths.min()),
                max_width=int(widths.max()),
                num_widths=int(np.unique(widths).size),
                num_shapes=int(np.unique(rows << 32 | widths).size),
                speed=cost_of_max / cost,
            )
        )
    return batchings


def _ways(config: BatchingConfig) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, arguments of `ReaderConfig`) of each way, `MAX` first."""
    yield MAX, {"batching": PLAIN, "width": WIDTH_MAX}
    yield PLAIN, {"batching": PLAIN}
    if not config.is_stream:
        yield POOLS, {"batching": POOLS, "pool_batches": config.pool_batches}
        yield BUCKETS, {"batching": BUCKETS, "num_buckets": config.num_buckets}
        yield PACKED, {"batching": PACKED}


def _cost(epoch: EpochPlan, hidden_size: int) -> float:
    """Return what all batches cost, in the operations of a token without attention."""
    rows, widths = np.diff(epoch.batch_splits), epoch.widths.astype(np.float64)
    return float(np.sum(rows * widths * (1 + widths / (6 * hidden_size))))


def lengths_of_histogram(num_of_length: NDArray[np.int64], most: int) -> NDArray[np.uint32]:
    """Return the lengths of records, or of about `most` of them, from how many have each length."""
    total = int(num_of_length.sum())
    counts = num_of_length
    if total > most:
        counts = np.diff(np.cumsum([0, *num_of_length.tolist()]) * most // total)
    return np.repeat(np.arange(counts.size, dtype=np.uint32), counts)
