"""The configuration of a plan: how records become batches.

PlanConfig(batching="pools", batch_size=256, shuffle=True, seed=7)
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence

from bert_data.settings import check_choice, check_integer

PLAIN, POOLS, BUCKETS, PACKED = BATCHINGS = ("plain", "pools", "buckets", "packed")
DEFAULT_NUM_WIDTHS = 8
MAX_START_BATCH = 2**62


def is_ascending(widths: Sequence[object]) -> bool:
    """Return whether there are widths, which are integers that ascend from 1 or more."""
    if not widths or not all(map(_is_integer, widths)):
        return False
    return all(low < high for low, high in itertools.pairwise((0, *widths)))  # type: ignore[operator]


def check_start(start_batch: int, num_batches: int | None) -> None:
    """Check that a run starts at one of its batches.

    Raises:
      ValueError: there are only `num_batches`.
    """
    if num_batches is not None and start_batch >= num_batches:
        raise ValueError(f"start_batch is {start_batch:,}, but there are {num_batches:,} batches")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanConfig:
    """Configuration of `make_plan`.

    A row is one record, or with "packed" several, one after the other. The width of a batch is the
    number of tokens that each of its rows is padded to.

    Attributes:
      batching: which records share a batch.
        "plain": consecutive records of the epoch's order.
        "pools": the order is cut into pools of `pool_batches` batches, each is sorted by length and
        cut into batches, which come in shuffled order.
        "buckets": records with the same smallest width that holds them; see `widths`.
        "packed": records share rows, and consecutive rows of a shuffled order make the batches.
      batch_size: rows of a batch of all hosts together, >= 1; or None.
      max_tokens: most tokens of such a batch, rows times width, including empty rows where hosts
        do not divide evenly; or None. One of the two must be given.
      rows_multiple: with max_tokens, rows of a full batch are a multiple of it (and of num_hosts),
        >= 1. A plan with rows_multiple 8 is the same for 1, 2, 4 and 8 hosts.
      max_seq_length: longest record allowed, in tokens, >= 1; None: the longest that occurs.
      pool_batches: batches of a pool, >= 1.
      widths: the widths that batches may have, for a fixed number of shapes. Ascending numbers, to
        which max_seq_length is added as the last; or a number >= 1: that many, chosen for the least
        padding of these records; or None: "plain" and "pools" take the longest row of each batch,
        "buckets" chooses 8. For "packed", one number in a tuple: the width of all rows, at least
        max_seq_length, which is also the default.
      shuffle: whether the order is drawn from (seed, epoch), over all records, new each epoch;
        otherwise the records keep their own order as far as the batching allows.
      seed: any integer; it counts modulo 2**64.
      drop_remainder: whether a batch of fewer than `batch_size` rows (with max_tokens: fewer than
        fit, "buckets" and "packed" only) is left out. There is at most one, the last of an epoch;
        with shuffle other records are left out each epoch. With max_tokens, "plain" and "pools"
        have batches of any number of rows, and none is left out.
      num_hosts: hosts that share each batch, >= 1.
    """

    batching: str = PLAIN
    batch_size: int | None = None
    max_tokens: int | None = None
    rows_multiple: int = 1
    max_seq_length: int | None = None
    pool_batches: int = 64
    widths: int | tuple[int, ...] | None = None
    shuffle: bool = False
    seed: int = 0
    drop_remainder: bool = False
    num_hosts: int = 1

    def __post_init__(self) -> None:
        check_choice("batching", self.batching, BATCHINGS)
        for name in ("batch_size", "max_tokens", "max_seq_length"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1)
        for name in ("rows_multiple", "pool_batches", "num_hosts"):
            check_integer(name, getattr(self, name), 1)
        if (self.batch_size is None) == (self.max_tokens is None):
            both = f"batch_size is {self.batch_size} and max_tokens is {self.max_tokens}"
            raise ValueError(f"{both}; give exactly one of them")
        if not _is_integer(self.seed):
            raise ValueError(f"seed is {self.seed!r}; it must be an integer")
        self._check_widths()

    def _check_widths(self) -> None:
        widths, is_packed = self.widths, self.batching == PACKED
        if widths is None or (_is_integer(widths) and not is_packed):
            if widths is not None:
                check_integer("widths", widths, 1)
            return
        if not isinstance(widths, tuple) or not is_ascending(widths):
            allowed = "a number >= 1 or a tuple of ascending widths >= 1"
            if is_packed:
                allowed = "a tuple of one width"
            raise ValueError(f"widths is {widths!r}; it must be None or {allowed}")
        longest = self.max_seq_length
        if is_packed and (len(widths) > 1 or widths[0] < (longest or 0)):
            allowed = "for packed rows one width, at least max_seq_length"
            raise ValueError(f"widths is {widths!r}; it must be {allowed}")
        if not is_packed and longest is not None and widths[-1] > longest:
            raise ValueError(f"widths is {widths!r}; it must not exceed max_seq_length, {longest}")

    @property
    def rows_unit(self) -> int:
        """The number that the rows of a full batch, bounded by tokens, are a multiple of."""
        return math.lcm(self.rows_multiple, self.num_hosts)

    def rows_of_width(self, width: int) -> int:
        """Rows of a full batch of this width; 0 where max_tokens does not hold one."""
        if self.batch_size is not None:
            return self.batch_size
        assert self.max_tokens is not None
        return self.max_tokens // width // self.rows_unit * self.rows_unit


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
