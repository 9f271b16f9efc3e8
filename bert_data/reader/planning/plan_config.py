"""The configuration of a plan: how records become batches.

PlanConfig(batching="pools", batch_size=256, shuffle=True, seed=7)
"""

import dataclasses
import itertools
import math
from typing import Annotated

from bert_data.settings import OneOf, Within, check_settings

PLAIN, POOLS, BUCKETS, PACKED = BATCHINGS = ("plain", "pools", "buckets", "packed")
PLAN_VERSION = 1
"""Of the order that a plan gives records; checkpoints name it."""
WIDTH_OF_BATCH, WIDTH_MAX = "batch", "max"


def check_host(host_index: int, num_hosts: int, name: str = "num_hosts") -> None:
    """Check the number of a host."""
    if host_index >= num_hosts:
        raise ValueError(f"host_index is {host_index}; it must be below {name}, {num_hosts}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanConfig:
    """Configuration of `make_plan`.

    A row is one sequence, or with "packed" several, one after the other.

    "plain" cuts the order of an epoch into batches. "pools" cuts it into pools of batches, sorts
    each by length and cuts it into batches, which come in shuffled order. "buckets" batches the
    sequences that have the same smallest width. "packed" fills rows with sequences, and batches
    consecutive rows of a shuffled order.

    A batch of fewer rows than the others is the last of an epoch, but with `max_tokens_per_batch`,
    where batches of "plain" and "pools" have any number of rows, and none is left out. With
    shuffle, other sequences are left out each epoch.

    Attributes:
      batching: which sequences share a batch.
      batch_size: rows of a batch, over all devices.
      max_tokens_per_batch: bound batches by tokens, padding and empty rows included, instead of by
        rows; not for stream.
      rows_multiple: with `max_tokens_per_batch`: rows of a full batch are a multiple of it (and of
        `num_hosts`). A plan with 8 is the same for 1, 2, 4 and 8 hosts.
      max_seq_length: longest sequence that is allowed, in tokens; by default the longest one.
      pool_batches: with pools: number of batches whose sequences are sorted together.
      num_buckets: with buckets: number of widths, chosen for the least padding.
      width: width of a batch, to which all its rows are padded. batch: its longest row (with
        buckets, the next of `num_buckets` widths). max: `max_seq_length`. Or ascending widths, such
        as 64,96,128: the smallest one that holds its longest row; `max_seq_length` is always the
        last. Packed rows always have one width: `max_seq_length`, or a given one, at least as
        large.
      shuffle: whether sequences come in an order drawn from (seed, epoch), new each epoch;
        otherwise in their own, as far as the batching allows.
      seed: any integer.
      drop_remainder: whether a last batch of fewer rows is left out.
      num_hosts: hosts that share each batch.
    """

    batching: Annotated[str, OneOf(BATCHINGS)] = PLAIN
    batch_size: Annotated[int, Within(1)] | None = None
    max_tokens_per_batch: Annotated[int, Within(1)] | None = None
    rows_multiple: Annotated[int, Within(1)] = 1
    max_seq_length: Annotated[int, Within(1)] | None = None
    pool_batches: Annotated[int, Within(1)] = 64
    num_buckets: Annotated[int, Within(1)] = 8
    width: str | tuple[int, ...] = WIDTH_OF_BATCH
    shuffle: bool = False
    seed: int = 0
    drop_remainder: bool = False
    num_hosts: Annotated[int, Within(1)] = 1

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.batch_size is None) == (self.max_tokens_per_batch is None):
            raise ValueError(
                f"batch_size is {self.batch_size} and max_tokens_per_batch is"
                f" {self.max_tokens_per_batch}; give exactly one of them"
            )
        if self.width not in (WIDTH_OF_BATCH, WIDTH_MAX):
            self._check_widths(self.width)

    def _check_widths(self, widths: object) -> None:
        longest, allowed = self.max_seq_length, ""
        if not isinstance(widths, tuple) or not _is_ascending(widths):
            allowed = "be batch, max or ascending widths of 1 or more"
        elif self.batching == PACKED:
            if len(widths) > 1 or widths[0] < (longest or 0):
                allowed = "be for packed rows one width, at least max_seq_length"
        elif longest is not None and widths[-1] > longest:
            allowed = f"not exceed max_seq_length, {longest}"
        if allowed:
            raise ValueError(f"width is {widths!r}; it must {allowed}")

    @property
    def fits_longest_row(self) -> bool:
        """Whether a batch is as wide as its longest row, or with buckets the next width."""
        return self.width == WIDTH_OF_BATCH

    @property
    def rows_unit(self) -> int:
        """The number that the rows of a full batch, bounded by tokens, are a multiple of."""
        return math.lcm(self.rows_multiple, self.num_hosts)

    def rows_of_width(self, width: int) -> int:
        """Rows of a full batch of this width; 0 where max_tokens_per_batch does not hold one."""
        if self.batch_size is not None:
            return self.batch_size
        assert self.max_tokens_per_batch is not None
        return self.max_tokens_per_batch // width // self.rows_unit * self.rows_unit


def _is_ascending(widths: tuple[object, ...]) -> bool:
    """Return whether there are widths, which are integers that ascend from 1 or more."""
    if not widths or not all(type(width) is int for width in widths):
        return False
    return all(low < high for low, high in itertools.pairwise((0, *widths)))  # type: ignore[operator]
