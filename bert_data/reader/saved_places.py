"""Iterators over batches whose place can be saved, as those of Grain.

    batches = iterate_arrays(files, batch_size=32)
    next(batches)
    state = batches.get_state()    {"batch": 1, "order": "5f0c...", "version": 2, "seal": "91ab..."}
    batches.set_state(state)       the second batch comes next, in any process that reads the same

A state is a small dict of numbers and strings, which JSON has. Its seal is a checksum, so that one
that was changed by hand is refused.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from bert_data.reader.layout import BatchArrays

Place = TypeVar("Place")

SEAL = "seal"
_DIGITS = 16


def digest_of(values: Mapping[str, Any]) -> str:
    """Return a short digest of values that JSON has."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def sealed(state: Mapping[str, int | str]) -> dict[str, Any]:
    """Return a state with its seal."""
    return {**state, SEAL: digest_of(state)}


def open_state(state: Any, needed: Mapping[str, type]) -> dict[str, Any]:
    """Return a sealed state without its seal.

    Args:
      needed: the names of its values, and their types: int (none is negative) or str.

    Raises:
      ValueError: it is another kind of thing, or was changed.
    """
    names = ", ".join([*needed, SEAL])
    if not isinstance(state, Mapping) or set(state) != {*needed, SEAL}:
        raise ValueError(f"the state is {state!r}; one from get_state has {names}")
    values = {name: state[name] for name in needed}
    for name, kind in needed.items():
        if type(values[name]) is not kind or (kind is int and values[name] < 0):
            allowed = "an integer from 0 on" if kind is int else "a string"
            raise ValueError(f"{name} of the state is {values[name]!r}; it must be {allowed}")
    if state[SEAL] != digest_of(values):
        raise ValueError(f"the state was changed after it was saved: its seal fits other {names}")
    return values


class PlacedIterator(Iterator[BatchArrays], Generic[Place]):
    """Batches, and the place behind the last one that was taken."""

    def __init__(
        self,
        start: Place,
        begin: Callable[[Place], Iterator[tuple[Place, BatchArrays]]],
        save: Callable[[Place], dict[str, Any]],
        load: Callable[[Any], Place],
    ) -> None:
        """Begin at a place.

        Args:
          begin: yields the batches from a place on, each with the place behind it.
          save, load: make a state of a place, and a place of a state, or raise ValueError.
        """
        self._place, self._begin, self._save, self._load = start, begin, save, load
        self._batches = begin(start)

    def __next__(self) -> BatchArrays:
        self._place, batch = next(self._batches)
        return batch

    def get_state(self) -> dict[str, Any]:
        """Return the place: numbers and strings, with a digest of what is read."""
        return self._save(self._place)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a place that was saved; behind the last batch, there is none.

        Raises:
          ValueError: it is not a state, was changed, or is of other data or of another order.
        """
        place = self._load(state)
        self.close()
        self._place, self._batches = place, self._begin(place)

    def close(self) -> None:
        """Stop reading ahead."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()
