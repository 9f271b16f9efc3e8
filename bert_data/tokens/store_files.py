"""The files of token stores: the names that commands take, and the notes of what made a store.

"web", "web.bin", "web.idx"  ->  web
"web@3"                      ->  web-00000-of-00003, web-00001-of-00003, web-00002-of-00003
"parts/*", "parts/*.bin"     ->  parts/a, parts/b

PREFIX.store.json lies beside PREFIX.bin and PREFIX.idx, as does PREFIX.provenance.parquet,
see `provenance`; stores of other programs have neither. The same text, flags and libraries give the
same notes on every machine:

    {"format": "bert_data token store", "vocabulary": {"size": 30522, "sha256": "..."},
     "settings": {"level": "sentence", ...}, "inputs": [{"name": "a.txt", "num_bytes": 70}],
     "tokenizer": {"backend": "wordpiece", ...}, "counts": {"num_documents": 3, ...},
     "files": {"bin": {"num_bytes": 64, "crc32": 7}, ...},
     "side_files": {"provenance.parquet": {"num_bytes": 90, "crc32": 8}}}
"""

import dataclasses
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import bert_data
from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.tokens import provenance
from bert_data.tokens.store_writer import FileSummary
from bert_data.tokens.tokenizer_config import PIECES
from bert_data.tokens.vocabulary import VocabularyNote

_FORMAT = "bert_data token store"
FORMAT_VERSION = 1
ENDINGS = ("bin", "idx")
IS_EMPTY = "is_empty"
"""Of an input in the notes of a store: it gave no document."""


_INDEX, _NOTES = ".idx", ".store.json"
_FILES = (".bin", _INDEX)
_SIDE_FILES = (f".{provenance.ENDING}",)
_ALL_FILES = (*_FILES, *_SIDE_FILES, _NOTES)
PARTITIONED = re.compile(r".+@\d+")


def expand_store(name: str) -> list[str]:
    """Return the prefixes of the stores that a name stands for; they need not exist."""
    prefix = name[:-4] if name.endswith(_FILES) else name
    if storage.exists(prefix + _INDEX):
        return [prefix]
    matches = storage.glob(prefix + _INDEX)
    if not matches and PARTITIONED.fullmatch(prefix):
        return list(storage.expand_output(prefix).paths)
    return [match.removesuffix(_INDEX) for match in matches] or [prefix]


@storage.side_files
def _rest_of_stores(paths: Sequence[str]) -> Iterator[str]:
    """Yield the files of the stores to which some files belong."""
    for path in paths:
        for ending in _ALL_FILES:
            if path.endswith(ending):
                yield from (path.removesuffix(ending) + each for each in _ALL_FILES)


def expand_stores(names: Iterable[str]) -> list[str]:
    """Return the prefixes of all stores that some names stand for, see `expand_store`."""
    prefixes: list[str] = []
    for name in names:
        own = expand_store(name)
        if PARTITIONED.fullmatch(name) and not any(
            storage.exists(prefix + _INDEX) for prefix in own
        ):
            raise ValueError(storage.describe_absence(name))
        prefixes += own
    return prefixes


def partition_prefixes(prefix: str, num_partitions: int) -> Sequence[str]:
    """Return the prefixes of the stores of all partitions."""
    if num_partitions == 1:
        return (prefix,)
    return storage.expand_output(f"{prefix}@{num_partitions}").paths


def earlier_partitions(prefix: str, num_partitions: int) -> list[str]:
    """Return the files of stores of a prefix that divide it into another number of partitions."""
    folder, name = os.path.split(prefix)
    if not storage.is_folder(folder or os.curdir):
        return []
    endings = "|".join(map(re.escape, _ALL_FILES))
    names = re.compile(rf"{re.escape(name)}-\d{{5}}-of-(\d{{5}})(?:{endings})")
    found = filter(None, map(names.fullmatch, storage.list_folder(folder)))
    return [os.path.join(folder, each[0]) for each in found if int(each[1]) != num_partitions]


def is_store_name(name: str) -> bool:
    """Whether a name stands for token stores, and not for files of text."""
    if name.endswith(_FILES):
        return True
    if not name or storage.exists(name):
        return False
    return all(path.endswith(_ALL_FILES) for path in storage.glob(name)) and any(
        storage.exists(prefix + _INDEX) for prefix in expand_store(name)
    )


def are_store_names(names: Sequence[str]) -> bool:
    """Whether names stand for token stores, and not for files of text; not both."""
    are_stores = list(map(is_store_name, names))
    if any(are_stores) and not all(are_stores):
        store, other = names[are_stores.index(True)], names[are_stores.index(False)]
        raise ValueError(
            f"{store!r} names token stores, but {other!r} does not; name either token stores or"
            " other files, not both"
        )
    return all(are_stores)


def without_mark(noted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what notes say of an input before it is read."""
    return {name: value for name, value in noted.items() if name != IS_EMPTY}


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreNotes:
    """Notes of how a store was made.

    Attributes:
      vocabulary: or the tokenizer.json.
      settings: level, eod_id, bos_id (if there is one), empty_documents, dtype, id_limit (above all
        ids), and how the text was read.
      inputs: for each file its name (without folders), its size in bytes, the CRC-32 of its first
        and last bytes, the part that was read, and `is_empty` if that gave no document.
      counts: the numbers of `TokenCounts`.
      special_tokens: its field of that name; None: unknown.
      files: of PREFIX.bin and PREFIX.idx.
      side_files: of PREFIX.provenance.parquet, if there is one.
      provenance: its columns, and the names of their fields in the input.
      tokenizer: what ran the tokenizer, and why; the files do not depend on it.
      without: of documents that were left out: their number, that of the names in the list, and the
        numbers of those that were found; the list's SHA-256 is among the settings.
    """

    vocabulary: VocabularyNote
    settings: Mapping[str, Any]
    inputs: Sequence[Mapping[str, Any]]
    tokenizer: Mapping[str, str] = dataclasses.field(default_factory=dict)
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    special_tokens: Mapping[str, int] | None = None
    files: Mapping[str, FileSummary] = dataclasses.field(default_factory=dict)
    side_files: Mapping[str, FileSummary] = dataclasses.field(default_factory=dict)
    provenance: Mapping[str, str] = dataclasses.field(default_factory=dict)
    without: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def made_from(self) -> dict[str, Any]:
        """All that the two files depend on."""
        values = dataclasses.asdict(self)
        values["inputs"] = list(map(without_mark, values["inputs"]))
        return {name: values[name] for name in ("vocabulary", "settings", "inputs")}

    def to_json(self) -> str:
        """Return the notes as the text of their file."""
        data = {
            "format": _FORMAT,
            "format_version": FORMAT_VERSION,
            "created_by": f"bert_data {bert_data.__version__}",
            **dataclasses.asdict(self),
        }
        if not self.without:
            del data["without"]
        return storage.json_text(data)


class _Settings(TypedDict):
    """The settings that readers of a store rely on; others are only compared."""

    level: str
    id_limit: int
    eod_id: int | None
    bos_id: NotRequired[int | None]
    do_lower_case: bool | None


class _Counts(TypedDict):
    num_documents: int
    num_sentences: int
    num_tokens: int


class _Files(TypedDict):
    bin: FileSummary
    idx: FileSummary


class _Needed(TypedDict):
    settings: _Settings
    counts: _Counts
    files: _Files


def notes_path(prefix: str) -> str:
    """Return the path of a store's notes."""
    return prefix + _NOTES


def store_paths(prefix: str, *, has_provenance: bool = True) -> list[str]:
    """Return the files of a store, its notes last; only the first two are in every store."""
    return [prefix + e for e in _ALL_FILES if has_provenance or e not in _SIDE_FILES]


def voucher_paths(prefix: str) -> list[str]:
    """Return the files of a store that say that the others are complete."""
    return [prefix + _INDEX, notes_path(prefix)]


def read_notes(prefix: str) -> StoreNotes | None:
    """Return the notes of a store, or None if there are none."""
    path = notes_path(prefix)
    try:
        content = storage.read_bytes(path)
    except FileNotFoundError:
        return None
    if storage.decode_json(content, path, storage.FormatHeader) != storage.FormatHeader(
        _FORMAT, FORMAT_VERSION
    ):
        raise CorruptDataError(path, 0, f"not the notes of a {_FORMAT}, version {FORMAT_VERSION}")
    storage.decode_json(content, path, _Needed)
    return storage.decode_json(content, path, StoreNotes)


def commit_store(
    outputs: storage.OutputSet, prefix: str, source: str, notes: StoreNotes | None
) -> None:
    """Give the store at the prefix `source` its final names, in a set of `store_paths`."""
    notes_file = notes_path(prefix)
    beside = [] if notes is None else [*notes.side_files]
    for ending in (*ENDINGS, *beside):
        outputs.take_in(f"{prefix}.{ending}", f"{source}.{ending}")
    vouchers = [prefix + _INDEX]
    if notes is not None:
        with outputs.open(notes_file) as file:
            file.write(notes.to_json().encode())
        vouchers.append(notes_file)
    outputs.commit([f"{prefix}.bin", *(f"{prefix}.{ending}" for ending in beside)], vouchers)


def obsolete_files(prefix: str, *, has_notes: bool = True, has_provenance: bool) -> list[str]:
    """Return the files beside an earlier store that the one which replaces it does not have."""
    endings = [] if has_notes else [_NOTES]
    if not has_provenance:
        endings += _SIDE_FILES
    return [prefix + ending for ending in endings if storage.exists(prefix + ending)]


def check_files(prefix: str, notes: StoreNotes, *, side_files: bool = False) -> None:
    """Compare the sizes of a store's files with its notes, if asked of those beside them, too."""
    expected_files = {**notes.files, **(notes.side_files if side_files else {})}
    for ending, expected in expected_files.items():
        path = f"{prefix}.{ending}"
        size = storage.file_size(path)
        if size != expected.num_bytes:
            reason = f"has {size} bytes; {os.path.basename(notes_path(prefix))} says"
            raise CorruptDataError(path, size, f"{reason} {expected.num_bytes}")


def noted_words(notes: Iterable[StoreNotes | None]) -> str:
    """Return what a word is in token stores, see `segmenting`; PIECES without notes."""
    found = {PIECES if each is None else each.settings.get("words", PIECES) for each in notes}
    return " and ".join(sorted(found - {PIECES})) or PIECES


def words_of_stores(prefixes: Iterable[str]) -> str:
    """Return `noted_words` of stores; PIECES if notes are damaged, which a later check reports."""
    try:
        return noted_words(map(read_notes, prefixes))
    except CorruptDataError:
        return PIECES


def noted_eod(prefixes: Sequence[str]) -> int | None:
    """Return the id of the token that ends the documents of token stores, from their notes."""
    eod_ids = {}
    for prefix in prefixes:
        notes = read_notes(prefix)
        eod_ids[prefix] = None if notes is None else notes.settings.get("eod_id")
    known = {prefix: eod for prefix, eod in eod_ids.items() if eod is not None}
    if len(set(known.values())) > 1:
        ends = ", ".join(f"{eod} in {prefix}" for prefix, eod in known.items())
        raise ValueError(f"documents end with different tokens: {ends}")
    return next(iter(known.values())) if known and len(known) == len(eod_ids) else None
