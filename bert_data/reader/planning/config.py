"""The configuration of a plan: how records become batches.

PlanConfig(batching="pools", batch_size=256, shuffle=True, seed=7)
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Annotated

from bert_data.settings import OneOf, Within, check_integer, check_settings

PLAIN, POOLS, BUCKETS, PACKED = BATCHINGS = ("plain", "pools", "buckets", "packed")
DEFAULT_NUM_WIDTHS = 8


def is_ascending(widths: Sequence[object]) -> bool:
    """Return whether there are widths, which are integers that ascend from 1 or more."""
    if not widths or not all(map(_is_integer, widths)):
        return False
    return all(low < high for low, high in itertools.pairwise((0, *widths)))  # type: ignore[operator]


def check_widths(name: str, widths: tuple[int, ...], batching: str, longest: int | None) -> None:
    """Check that ascending widths fit the longest record allowed, if that is known."""
    allowed = ""
    if batching == PACKED:
        if len(widths) > 1 or widths[0] < (longest or 0):
            allowed = "be for packed rows one width, at least max_seq_length"
    elif longest is not None and widths[-1] > longest:
        allowed = f"not exceed max_seq_length, {longest}"
    if allowed:
        raise ValueError(f"{name} is {widths!r}; it must {allowed}")


def check_batch_bound(batch_size: int | None, name: str, max_tokens: int | None) -> None:
    """Check that a batch is bounded either by rows or by tokens; `name` is that of the latter."""
    if (batch_size is None) == (max_tokens is None):
        both = f"batch_size is {batch_size} and {name} is {max_tokens}"
        raise ValueError(f"{both}; give exactly one of them")


def check_host(host_index: int, num_hosts: int, name: str = "num_hosts") -> None:
    """Check the number of a host."""
    if host_index >= num_hosts:
        raise ValueError(f"host_index is {host_index}; it must be below {name}, {num_hosts}")


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

    batching: Annotated[str, OneOf(BATCHINGS)] = PLAIN
    batch_size: Annotated[int, Within(1)] | None = None
    max_tokens: Annotated[int, Within(1)] | None = None
    rows_multiple: Annotated[int, Within(1)] = 1
    max_seq_length: Annotated[int, Within(1)] | None = None
    pool_batches: Annotated[int, Within(1)] = 64
    widths: int | tuple[int, ...] | None = None
    shuffle: bool = False
    seed: int = 0
    drop_remainder: bool = False
    num_hosts: Annotated[int, Within(1)] = 1

    def __post_init__(self) -> None:
        check_settings(self)
        check_batch_bound(self.batch_size, "max_tokens", self.max_tokens)
        widths, is_packed = self.widths, self.batching == PACKED
        if widths is None:
            return
        if _is_integer(widths) and not is_packed:
            check_integer("widths", widths, 1)
        elif isinstance(widths, tuple) and is_ascending(widths):
            check_widths("widths", widths, self.batching, self.max_seq_length)
        else:
            counted = "a number >= 1 or a tuple of ascending widths >= 1"
            allowed = "a tuple of one width" if is_packed else counted
            raise ValueError(f"widths is {widths!r}; it must be None or {allowed}")

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
