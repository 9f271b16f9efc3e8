"""Ask for something of many files: threads wait for the remote ones.

map_files(storage.exists, ["s3://b/a", "s3://b/c"], ...)  ->  True, False
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from bert_data.storage import is_remote
from bert_data.work.threads import Threads

Item = TypeVar("Item")
Result = TypeVar("Result")

_NUM_THREADS = 16


def map_files(
    function: Callable[[Item], Result], items: Sequence[Item], paths: Sequence[str]
) -> Iterator[Result]:
    """Yield what a function returns for each item, in order; threads wait for remote files.

    Args:
      paths: of the files that the function reads.
    """
    if not any(map(is_remote, paths)):
        yield from map(function, items)
        return
    with Threads(_NUM_THREADS) as executor:
        yield from executor.ordered_map(function, items)
