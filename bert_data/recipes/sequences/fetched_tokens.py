"""The tokens of stores in buckets, fetched by ranges window by window, before they are read.

    window of a source   blocks 7 2 9                  its sequences are read in any order
    ranges of the store  2: [400, 600)  7: [1400, 1600)  9: [1800, 2000)
    local file           tokens of 2 | 7 | 9           one or more windows, see `hold_ranges`

So an epoch fetches each byte once. A window stays as long as batches need it, and its file as long
as any of its windows.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.recipes.sequences.opened_stores import Opened, OpenStore
from bert_data.recipes.sequences.store_source import StoreSource
from bert_data.storage import ByteRanges, NoRoomError, RemoteFiles, hold_ranges, map_open
from bert_data.tokens.store_files import store_paths

_FILE_BYTES = 16 << 20  # of a local file, but for its last window


class TokenWindow(NamedTuple):
    """Tokens of a window of a source.

    Attributes:
      firsts, ends: int64[ranges], tokens in all stores of the source, ascending.
      places: int64[ranges], bytes of the data.
      parts: int64[ranges], stores of the source.
      data: uint8[any], of this and other windows.
    """

    firsts: NDArray[np.int64]
    ends: NDArray[np.int64]
    places: NDArray[np.int64]
    parts: NDArray[np.int64]
    data: NDArray[np.uint8]


class FetchedTokens:
    """The tokens of some windows of a stage's sources.

    Attributes:
      arrays: the tokens, each under the path of its stores.
    """

    def __init__(
        self, sources: Sequence[StoreSource], windows: Mapping[tuple[int, int, int], TokenWindow]
    ) -> None:
        """Index the ranges.

        Args:
          windows: by the number of their source, their epoch, and their number.
        """
        self._starts = np.cumsum([0, *(source.opened.num_tokens for source in sources)])[:-1]
        self._is_fetched = np.array([each.opened.is_fetched for each in sources])
        arrays: dict[tuple[int, Opened, np.dtype], tuple[int, NDArray[np.integer]]] = {}
        layers: dict[int, list[tuple[NDArray[np.int64], ...]]] = {}
        first_epochs: dict[int, int] = {}
        for (source, epoch, _), window in windows.items():
            opened, start = sources[source].opened, self._starts[source]
            numbers, shifts = np.zeros((2, window.parts.size), np.int64)
            for part in np.unique(window.parts).tolist():
                dtype = opened.stores[part].ids.dtype
                key = id(window.data), opened, dtype
                number, _ = arrays.setdefault(key, (len(arrays), window.data.view(dtype)))
                here = window.parts == part
                numbers[here] = number
                shifts[here] = window.firsts[here] - window.places[here] // dtype.itemsize
            layer = epoch - first_epochs.setdefault(source, epoch)  # in an epoch, none overlap
            columns = window.firsts + start, window.ends + start, shifts, numbers
            layers.setdefault(layer, []).append(columns)
        self.arrays = [OpenStore(o, o.path, ids) for (_, o, _), (_, ids) in arrays.items()]
        self._layers = [_by_first(layer) for layer in layers.values()]

    def locate(
        self,
        of_source: NDArray[np.integer],
        begins: NDArray[np.int64],
        lengths: NDArray[np.int32],
        first_array: int,
        stores: NDArray[np.int32],
        places: NDArray[np.int64],
    ) -> None:
        """Find ranges of the sources' tokens.

        Args:
          first_array: the number that the first of the arrays has among stores.
          stores, places: int32[ranges], int64[ranges], filled in for what is in buckets: the
            number of the array, and where in it the range begins.
        """
        left, wanted = np.arange(begins.size), begins + self._starts[of_source]
        for firsts, ends, shifts, arrays in self._layers:
            at = np.searchsorted(firsts, wanted[left], "right") - 1
            is_here = (at >= 0) & (wanted[left] + lengths[left] <= ends[at])
            own, at = left[is_here], at[is_here]
            stores[own], places[own] = first_array + arrays[at], begins[own] - shifts[at]
            left = left[~is_here]
        left = left[self._is_fetched[of_source[left]]]
        assert not lengths[left].any()
        stores[left], places[left] = first_array, 0


def _by_first(parts: list[tuple[NDArray[np.int64], ...]]) -> list[NDArray[np.int64]]:
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0])
    return [column[order] for column in columns]


Key = tuple[StoreSource, int, int]
"""A source, an epoch, and a window of it."""


class Fetcher:
    """Fetches the windows of sources, and keeps those that were asked for last."""

    def __init__(self, sources: Iterable[StoreSource]) -> None:
        """Fetch nothing yet."""
        parts = {
            part.prefix: part
            for source in sources
            for part in source.opened.parts
            if part.version is not None
        }
        self._numbers = {prefix: number for number, prefix in enumerate(parts)}
        self._files = RemoteFiles(
            [store_paths(prefix)[0] for prefix in parts],
            [part.store.ids.nbytes for part in parts.values()],
            [part.version for part in parts.values() if part.version is not None],
        )
        self._held: dict[Key, TokenWindow] = {}

    def fetch(self, keys: Sequence[Key]) -> list[TokenWindow]:
        """Return windows, after fetching those that are not held."""
        self._held = {key: self._held[key] for key in keys if key in self._held}
        group: dict[Key, TokenWindow] = {}
        num_bytes = 0
        for key in keys:
            if key in self._held:
                continue
            group[key] = _find_ranges(*key)
            ranges = self._in_files(key[0].opened, group[key])
            num_bytes += int((ranges.ends - ranges.begins).sum())
            if num_bytes >= _FILE_BYTES:
                self._fetch(group)
                group, num_bytes = {}, 0
        if group:
            self._fetch(group)
        return [self._held[key] for key in keys]

    def _fetch(self, group: Mapping[Key, TokenWindow]) -> None:
        parts = [self._in_files(key[0].opened, window) for key, window in group.items()]
        ranges = ByteRanges(*map(np.concatenate, zip(*parts, strict=True)))
        try:
            held = hold_ranges(self._files, ranges)
        except NoRoomError as error:
            raise ValueError(f"{error}; a smaller `shuffle_window` or batch needs less") from None
        data, places = map_open(held.path, held.descriptor).data, ranges.places
        for key, window in group.items():
            own, places = np.split(places, [window.firsts.size])
            self._held[key] = window._replace(places=own, data=data)

    def _in_files(self, opened: Opened, window: TokenWindow) -> ByteRanges:
        numbers = np.array([self._numbers[prefix] for prefix in opened.prefixes])
        sizes = np.array([store.ids.itemsize for store in opened.stores])[window.parts]
        starts = opened.splits[window.parts]
        begins, ends = (window.firsts - starts) * sizes, (window.ends - starts) * sizes
        return ByteRanges(numbers[window.parts], begins, ends)


def _find_ranges(source: StoreSource, epoch: int, window: int) -> TokenWindow:
    """Return a window without data: ranges of tokens that lie side by side in one store."""
    _, cut = source.cut_window(epoch, window)
    order = np.argsort(cut.begins)
    begins, opened = cut.begins[order], source.opened
    ends, parts = begins + cut.lengths[order], np.searchsorted(opened.splits, begins, "right") - 1
    is_new = (begins[1:] != ends[:-1]) | (parts[1:] != parts[:-1])
    firsts = np.flatnonzero(np.append(True, is_new))
    lasts = np.append(firsts[1:], begins.size) - 1
    none = np.zeros(firsts.size, np.int64)
    return TokenWindow(begins[firsts], ends[lasts], none, parts[firsts], none.view(np.uint8))
