"""Union-find: which members are joined, in arrays, for kernels.

    parents 0 1 2 3 --join(3, 1)--> 0 1 2 1 --join(2, 3)--> 0 1 1 1     root of 2: 1

The root of a set is its smallest member (members are numbered best first), whatever the order in
which it was joined. Tarjan (1975), "Efficiency of a good but not linear set union algorithm"; paths
are halved as in Tarjan and van Leeuwen (1984). Joining by the smallest root instead of by size
costs a logarithm at worst.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel


@inner
def find_root(parents: NDArray[np.int64], member: Scalar) -> Scalar:
    """Return the root of a member's set, and shorten the path to it."""
    while parents[member] != member:
        parents[member] = parents[parents[member]]
        member = parents[member]
    return member


@inner
def join(parents: NDArray[np.int64], one: Scalar, other: Scalar) -> None:
    """Merge two members' sets."""
    one = find_root(parents, one)
    other = find_root(parents, other)
    if one < other:
        parents[other] = one
    else:
        parents[one] = other


@kernel
def find_roots(parents: NDArray[np.int64]) -> None:
    """Replaces each member's parent by its root.

    Args:
      parents: int64[members], in [0, members), each <= its own number.
    """
    for member in range(len(parents)):
        parents[member] = parents[parents[member]]
