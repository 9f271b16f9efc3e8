"""Take documents out of token stores, by their ids: new stores, as if the text had never had them.

    .bin   tokens of 0 | 1 | 2 | 3, of which 1 is to go  ->  0 | 2 | 3
    .provenance  web.jsonl 1 | 2 | 3 | 4                 ->  web.jsonl 1 | 2 | 3

These files are, byte for byte, what `make_stores` makes of the input without these documents;
partitions keep the bounds that they have. The notes keep the input's description, and say how many
documents are gone. What is left is copied in large ranges; nothing is tokenized.
"""

import dataclasses
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray
from zlib_ng.zlib_ng import crc32

from bert_data.progress import how_many, progress
from bert_data.settings import Within, check_settings
from bert_data.storage import OutputSet, find_files, read_ids
from bert_data.tokens.merging import read_pieces
from bert_data.tokens.origins import Provenance
from bert_data.tokens.places import ROW_FORMATS
from bert_data.tokens.provenance import ENDING, ProvenanceWriter, integer_array, integers
from bert_data.tokens.store import MEGATRON, StoreShape, TokenStore, open_store
from bert_data.tokens.store_files import (
    NUM_FORGOTTEN,
    PARTITIONED,
    StoreNotes,
    are_store_names,
    check_files,
    expand_store,
    expand_stores,
    partition_prefixes,
    read_notes,
    store_paths,
    take_in_store,
)
from bert_data.tokens.store_writer import StoreWriter
from bert_data.tokens.verifying import check_sums, compare_sum, open_origins

if TYPE_CHECKING:
    import pyarrow

_NUM_NAMED = 3  # ids in a message


@dataclasses.dataclass(frozen=True, kw_only=True)
class ForgetConfig:
    """Configuration of `forget_documents`.

    Attributes:
      documents: file with the ids of the documents to take out, one a line.
      output_prefix: the new store is PREFIX.bin, .idx, .provenance and .store.json; of several
        stores, PREFIX-00000-of-0000N and so on. With `recipe`, names are put behind it, as behind
        clean/. What was curated, records and samples are files, FILE@N.
      input_file: token stores, by prefix (PREFIX@N for N partitions, or patterns), separated by
        commas; or what `curate`, `create` or `build-samples` wrote, as its `output_file`. They stay
        as they are.
      recipe: a recipe, for the stores that it names and have some of the documents; the new recipe
        names the new ones.
      made_from: records, samples: what they were made of, as the input of the command that made
        them. For stores, by default those that the set names; of those that have none of the
        documents, nothing is taken.
      vocab_file: records: the vocabulary that they were made with.
      tokenizer_file: records: the tokenizer that they were made with, in place of `vocab_file`.
      overwrite: replace existing files.
      num_workers: workers for what was curated, records and samples; 0 is all cores. Stores need no
        more than one.
    """

    documents: str
    output_prefix: str
    input_file: str | None = None
    recipe: str | None = None
    made_from: str | None = None
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    overwrite: bool = False
    num_workers: Annotated[int, Within(0, 1024)] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.input_file is None) == (self.recipe is None):
            raise ValueError("forget needs one of `input_file` and `recipe`")


class Forgotten(NamedTuple):
    """Result of taking documents out of stores.

    Attributes:
      prefixes: of the new stores.
      num_documents: of all stores before.
      num_forgotten: documents that were taken out.
      num_ids: that these had; less than documents if ids repeat.
    """

    prefixes: Sequence[str]
    num_documents: int
    num_forgotten: int
    num_ids: int


class StoreLeft(NamedTuple):
    """A store, and the numbers of those of its documents that are to go, ascending."""

    prefix: str
    store: TokenStore
    notes: StoreNotes
    origins: Provenance
    taken: NDArray[np.int64]


def forget_documents(config: ForgetConfig) -> Forgotten:
    """Write stores without some documents; they appear together, or not at all.

    Raises:
      ValueError: a store does not say where its documents came from, has none of the documents, or
        would have no other.
    """
    assert config.input_file is not None
    names = config.input_file.split(",")
    if not are_store_names(names) and any(map(find_files, names)):
        raise ValueError(
            f"input_file is {config.input_file!r}, which is neither token stores nor a whole set"
            " (name all its shards) with its manifest; take the documents out of what it was made"
            " of, and make it again"
        )
    prefixes = expand_stores(names)
    targets = partition_prefixes(config.output_prefix, len(prefixes))
    found: set[str] = set()
    stores = open_stores(prefixes, read_ids(config.documents), found)
    report_ids(config, prefixes, found)
    return write_without(config, [StoresLeft(stores, targets)], found)


class StoresLeft(NamedTuple):
    """Stores of one text, and the prefixes of those to write."""

    stores: Sequence[StoreLeft]
    targets: Sequence[str]

    @property
    def num_forgotten(self) -> int:
        """Documents that are to go."""
        return sum(each.taken.size for each in self.stores)


def find_in_stores(
    stores: Mapping[str, str], config: ForgetConfig, place: str, found: set[str]
) -> tuple[list[StoresLeft], dict[str, str]]:
    """Find documents in stores that are to get new ones, of the same names, in another place.

    Args:
      stores: the names of stores, each by what it is called, for a folder of those of a pattern.
      place: what names are put behind.
      found: takes the ids that documents have.

    Returns:
      The stores that have some of the documents; and their new names, by the old ones.
    """
    ids, groups, renamed = read_ids(config.documents), list[StoresLeft](), dict[str, str]()
    for store in dict.fromkeys(stores.values()):
        prefixes = expand_stores([store])
        is_pattern = store not in prefixes and not PARTITIONED.fullmatch(store)
        name = next(name for name, each in stores.items() if each == store)
        own = f"{place}{name}/" if is_pattern else place
        targets = [own + os.path.basename(each) for each in prefixes]
        left = StoresLeft(open_stores(prefixes, ids, found), targets)
        if left.num_forgotten:
            groups.append(left)
            renamed[store] = own + os.path.basename(store)
            others = set(expand_store(renamed[store])) - {renamed[store], *targets}
            if others:
                raise ValueError(
                    f"{renamed[store]} would also be {min(others)}, which is there; choose another"
                    " output_prefix"
                )
    names = Counter(target for group in groups for target in group.targets)
    if names and (most := names.most_common(1)[0])[1] > 1:
        raise ValueError(f"two of the stores would be {most[0]}; forget them one at a time")
    return groups, renamed


def write_without(
    config: ForgetConfig,
    groups: Sequence[StoresLeft],
    found: Set[str],
    texts: Mapping[str, bytes] | None = None,
) -> Forgotten:
    """Write stores without some documents, which have been found, and other files."""
    every = [each for group in groups for each in group.stores]
    targets = [target for group in groups for target in group.targets]
    reads = [path for each in every for path in store_paths(each.prefix)]
    with OutputSet(
        config.output_prefix,
        [*(path for target in targets for path in store_paths(target)), *(texts or {})],
        reads=[*reads, config.documents, *filter(None, [config.recipe])],
        overwrite=config.overwrite,
    ) as outputs:
        total = sum(each.store.ids.nbytes for each in every)
        files, vouchers = list[str](), list[str]()
        with progress("forget", total=total, unit="B") as advance:
            numbers = itertools.count()
            for group in groups:
                renumber = _Renumber()
                for each, target in zip(group.stores, group.targets, strict=True):
                    source = os.path.join(outputs.work_dir, f"store-{next(numbers)}")
                    notes = _write(each, source, renumber, advance)
                    own_files, own_vouchers = take_in_store(outputs, target, source, notes)
                    files += own_files
                    vouchers += own_vouchers
        for path, text in (texts or {}).items():
            with outputs.open(path) as file:
                file.write(text)
        outputs.commit(files, [*vouchers, *(texts or {})])
    num_documents = sum(each.store.num_documents for each in every)
    num_forgotten = sum(group.num_forgotten for group in groups)
    return Forgotten([*targets, *(texts or {})], num_documents, num_forgotten, len(found))


def open_stores(prefixes: Sequence[str], ids: Set[str], found: set[str]) -> list[StoreLeft]:
    """Open stores, and find their documents with some ids; add those that they have to `found`."""
    return [_open(prefix, ids, found) for prefix in prefixes]


def _open(prefix: str, ids: Set[str], found: set[str]) -> StoreLeft:
    """Open a store, and find its documents with some ids; add those that it has to `found`."""
    store, notes = open_store(prefix), read_notes(prefix)
    origins = open_origins(prefix, store, notes)
    if origins is None or notes is None:
        raise ValueError(
            f"{prefix} does not say where its documents came from ({ENDING}), so none can be found"
            " by its id; tokenize its text again without these documents"
        )
    check_files(prefix, notes, side_files=True)
    check_sums(prefix, notes, ["idx", ENDING])
    taken, names = origins.find_ids(ids)
    if _num_tokens(store, taken).sum() == store.ids.size:
        raise ValueError(f"{prefix} has no other document with text: nothing would be left of it")
    found |= names
    return StoreLeft(prefix, store, notes, origins, taken)


def _num_tokens(store: TokenStore, documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many tokens documents have."""
    before, after = (
        np.where(
            bounds < store.lengths.size,
            store.offsets[np.minimum(bounds, store.lengths.size - 1)] // store.ids.itemsize,
            store.ids.size,
        )
        for bounds in (store.documents[documents], store.documents[documents + 1])
    )
    return after - before


def report_ids(config: ForgetConfig, prefixes: Sequence[str], found: Set[str]) -> None:
    """Refuse ids of which no document has one, and warn of those that none has."""
    ids = read_ids(config.documents)
    missing = sorted(ids - found)
    named = ", ".join(map(repr, missing[:_NUM_NAMED])) + ", ..." * (len(missing) > _NUM_NAMED)
    others = f" and {len(prefixes) - 1:,} more" if prefixes[1:] else ""
    if not found:
        raise ValueError(
            f"{prefixes[0]}{others}: no document has one of the {how_many(len(ids), 'id')} of"
            f" {config.documents} ({named})"
        )
    if missing:
        logging.warning(
            "no document has %s of the %s of %s: %s",
            f"{len(missing):,}",
            how_many(len(ids), "id"),
            config.documents,
            named,
        )


def _write(
    opened: StoreLeft, prefix: str, renumber: "_Renumber", advance: Callable[[int], object]
) -> StoreNotes:
    """Write what is left of a store; return its notes."""
    store, notes = opened.store, opened.notes
    writer = StoreWriter(prefix, store.ids.dtype, StoreShape(empty_documents=MEGATRON))
    has_rows = notes.settings.get("input_format") in ROW_FORMATS
    with ProvenanceWriter(writer, opened.origins.rule) as written, writer:
        _copy(opened, writer, advance)
        written.add_all(_rows_left(opened, renumber if has_rows else None))
    return dataclasses.replace(
        notes,
        counts=_count(opened, writer, has_rows=has_rows),
        files=writer.files,
        side_files=written.files,
    )


def _copy(opened: StoreLeft, writer: StoreWriter, advance: Callable[[int], object]) -> None:
    """Copy the documents that stay, and compare the checksum of the store."""
    store, taken = opened.store, opened.taken
    starts, stops = store.documents[taken], store.documents[taken + 1]
    sequence = document = checksum = 0  # before a piece
    for ids, lengths, breaks in read_pieces(store):
        checksum = crc32(ids.data, checksum)
        last = sequence + lengths.size
        is_left = np.ones(lengths.size, np.bool_)
        some = slice(np.searchsorted(stops, sequence, "right"), np.searchsorted(starts, last))
        for start, stop in zip(starts[some].tolist(), stops[some].tolist(), strict=True):
            is_left[max(start - sequence, 0) : stop - sequence] = False
        ended = np.ones(breaks.size, np.bool_)
        ended[_between(taken, document, document + breaks.size)] = False
        before = np.concatenate([[0], np.cumsum(is_left)])
        writer.add(_left(ids, lengths, is_left), lengths[is_left], before[breaks[ended]])
        sequence, document = last, document + breaks.size
        advance(ids.nbytes)
    compare_sum(f"{opened.prefix}.bin", checksum, opened.notes.files["bin"])


def _left(
    ids: NDArray[Any], lengths: NDArray[np.int32], is_left: NDArray[np.bool_]
) -> NDArray[Any]:
    """Return the tokens of the sequences that are left."""
    if is_left.all():
        return ids
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    changes = np.flatnonzero(np.diff(is_left, prepend=False, append=False))
    runs = ends[changes].reshape(-1, 2).tolist()
    return np.concatenate([ids[:0], *(ids[start:stop] for start, stop in runs)])


def _between(taken: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Return those of some documents that lie between two, counted from the first of these."""
    return taken[np.searchsorted(taken, start) : np.searchsorted(taken, stop)] - start


def _rows_left(opened: StoreLeft, renumber: "_Renumber | None") -> "Iterator[pyarrow.RecordBatch]":
    """Yield where the documents that stay came from."""
    start = 0
    for batch in opened.origins.batches(0, opened.store.num_documents):
        is_left = np.ones(batch.num_rows, np.bool_)
        is_left[_between(opened.taken, start, start + batch.num_rows)] = False
        start += batch.num_rows
        if renumber is not None:
            batch = renumber(batch, ~is_left)
        yield batch if is_left.all() else batch.take(integer_array(np.flatnonzero(is_left)))


class _Renumber:
    """Counts the rows of files without those that are taken out, as documents stream by.

    A file ends where another begins, or where rows do not ascend.
    """

    def __init__(self) -> None:
        self._file, self._row, self._num_taken = "", 0, 0

    def __call__(
        self, batch: "pyarrow.RecordBatch", is_taken: NDArray[np.bool_]
    ) -> "pyarrow.RecordBatch":
        """Return documents with their new rows."""
        import pyarrow as pa
        from pyarrow import compute

        files = batch.column("file").dictionary_encode(null_encoding="encode")
        rows, codes = integers(batch.column("row")), integers(files.indices)
        is_first = np.ones(rows.size, np.bool_)
        is_first[1:] = (codes[1:] != codes[:-1]) | (rows[1:] <= rows[:-1])
        is_first[0] = files[0].as_py() != self._file or rows[0] <= self._row
        before: NDArray[np.int64] = np.cumsum(is_taken) - is_taken
        firsts = np.maximum.accumulate(np.where(is_first, np.arange(rows.size), -1))
        shifts = before - np.where(firsts < 0, -self._num_taken, before[firsts])
        self._file, self._row = files[-1].as_py(), int(rows[-1])
        self._num_taken = int(shifts[-1]) + int(is_taken[-1])
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns["row"] = compute.subtract(batch.column("row"), integer_array(shifts))
        return pa.RecordBatch.from_arrays([*columns.values()], schema=batch.schema)


def _count(opened: StoreLeft, writer: StoreWriter, *, has_rows: bool) -> dict[str, int]:
    """Return the counts of `TokenCounts` that are known when documents have gone."""
    noted, taken = opened.notes.counts, opened.taken
    marks = [opened.notes.settings.get(mark) for mark in ("bos_id", "eod_id")]
    num_marks = len(marks) - marks.count(None)
    num_empty = int(np.count_nonzero(_num_tokens(opened.store, taken) <= num_marks))
    gone = {"num_skipped": 0, "num_empty": num_empty}
    if has_rows:
        gone["num_lines"] = taken.size
    return {
        "num_documents": writer.num_documents,
        "num_sentences": writer.num_sentences,
        "num_tokens": writer.num_tokens,
        **{name: noted[name] - number for name, number in gone.items() if name in noted},
        NUM_FORGOTTEN: noted.get(NUM_FORGOTTEN, 0) + taken.size,
    }
