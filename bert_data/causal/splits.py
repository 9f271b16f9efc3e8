"""Train, validation and test: which documents of a store belong to which split.

    parse_split("969,30,1")  ->  0.969, 0.03, 0.001 of the documents
    split_documents("969,30,1", 1000)  ->  (0, 969), (969, 999), (999, 1000)

The ranges equal Megatron-LM's: cumulative sums of the normalised shares, times the number of
documents, rounded half to even.
"""

import functools
import itertools
import math
import operator

SPLITS = ("train", "valid", "test")

Range = tuple[int, int]


def parse_split(split: str) -> list[float]:
    """Parse the shares of the three splits, normalised; those that are not named are 0.

    Args:
      split: one to three numbers >= 0, separated by commas, such as "969,30,1" or "1".

    Raises:
      ValueError: it is anything else, or all shares are 0.
    """
    try:
        shares = [float(part) for part in split.split(",")]
    except ValueError:
        shares = []
    is_valid = 1 <= len(shares) <= len(SPLITS) and all(0 <= share < math.inf for share in shares)
    # Added one by one: since Python 3.12, `sum` rounds differently.
    total = functools.reduce(operator.add, shares, 0.0)
    if not is_valid or not 0 < total < math.inf:
        raise ValueError(
            f"split is {split!r}; one to three numbers >= 0 that are not all 0 are allowed, such "
            "as '969,30,1' for train, valid and test"
        )
    return [share / total for share in shares] + [0.0] * (len(SPLITS) - len(shares))


def split_documents(split: str, num_documents: int) -> tuple[Range | None, ...]:
    """Return the range of documents of each split; None for a share of 0.

    A split with a share may be empty if there are few documents.

    Raises:
      ValueError: see `parse_split`.
    """
    bounds = list(itertools.accumulate(parse_split(split), initial=0.0))
    return tuple(
        (round(first * float(num_documents)), round(last * float(num_documents)))
        if last > first
        else None
        for first, last in itertools.pairwise(bounds)
    )
