"""Documents to leave out of a text: a list of their names, and what was found of it.

    <urn:uuid:6b4a...>       documents with an id
    crawl/a.jsonl:17         the document that begins in row 17 of a file

Files are named as in the provenance of token stores: from the folder that all inputs share.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import IO, Any, NamedTuple

from absl import logging

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.progress import how_many

_SHOWN = 3  # names


@dataclasses.dataclass(frozen=True, kw_only=True)
class Without:
    """The documents of a list.

    Attributes:
      path, sha256: of the list.
      id_field: key or column of the documents' ids.
      folder: that names of files begin in.
      prefix: of all names of files.
    """

    path: str
    sha256: str
    id_field: str
    folder: str
    prefix: str = ""

    @property
    def names(self) -> list[str]:
        """The names in the list, each once; the places here are their numbers."""
        return [*_read(self.path, self.sha256).ids]

    def rows_of(self, path: str) -> Mapping[int, int]:
        """Return the rows of a file in which documents of the list begin, with their numbers."""
        file = self.prefix + storage.absolute_path(path).removeprefix(self.folder).lstrip("/")
        return _read(self.path, self.sha256).rows.get(file, {})

    def numbers_of(self, own_id: str | None, row: int, rows: Mapping[int, int]) -> set[int]:
        """Return the numbers of a document's names in the list; `rows` are those of its file."""
        found = {rows.get(row), _read(self.path, self.sha256).ids.get(own_id or "")}
        return {number for number in found if number is not None}

    def report(
        self,
        read: "ReadText",
        output: str,
        open_file: Callable[[str], AbstractContextManager[IO[bytes]]],
        *,
        is_strict: bool,
    ) -> None:
        """Say what was left out, and list the names that no document has beside an output."""
        names, path = self.names, not_found_path(output)
        missing = [name for number, name in enumerate(names) if number not in read.found]
        with open_file(path) as file:
            file.writelines(f"{name}\n".encode() for name in missing)
        found, left_out = how_many(len(read.found), "name"), how_many(read.num_left_out, "document")
        logging.info("left out %s, by %s in %s", left_out, found, self.path)
        if missing:
            shown = ", ".join(map(repr, missing[:_SHOWN])) + ", ..." * (len(missing) > _SHOWN)
            sentence = (
                f"no document has {len(missing):,} of the {how_many(len(names), 'name')} in"
                f" {self.path} ({shown})"
            )
            if is_strict:
                raise ValueError(f"{sentence}, which `strict_without` refuses")
            logging.warning("%s; %s lists them", sentence, path)

    def counts(self, read: "ReadText") -> dict[str, int]:
        """Return what a manifest says of the names, and of the documents that were left out."""
        found, left_out = len(read.found), read.num_left_out
        return {"num_names": len(self.names), "num_found": found, "num_documents": left_out}


class _List(NamedTuple):
    """The numbers of names: as ids, and as rows of files."""

    ids: dict[str, int]
    rows: dict[str, dict[int, int]]


@functools.lru_cache(maxsize=1)
def _read(path: str, sha256: str) -> _List:
    content = storage.read_bytes(path)
    if _digest(content) != sha256:
        raise ValueError(f"{path} was changed while the run read it; give the command again")
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        reason = "not UTF-8; it must have a document's id, or FILE:ROW, a line"
        raise CorruptDataError(path, error.start, reason) from None
    names = dict.fromkeys(line.removesuffix("\r") for line in lines)
    names.pop("", None)
    if not names:
        raise ValueError(f"{path} has no name; it must have a document's id, or FILE:ROW, a line")
    rows: dict[str, dict[int, int]] = {}
    for number, name in enumerate(names):
        file, _, row = name.rpartition(":")
        if file and row.isascii() and row.isdecimal():
            rows.setdefault(file, {})[int(row)] = number
    return _List({name: number for number, name in enumerate(names)}, rows)


def _digest(content: bytes) -> str:
    import hashlib  # here, as it would delay --help

    return hashlib.sha256(content).hexdigest()


@dataclasses.dataclass(kw_only=True)
class ReadText:
    """What was noted of text while it was read.

    Attributes:
      with_text: the files that have text in them.
      num_left_out: documents that were left out.
      found: numbers of their names in the list, see `Without`.
    """

    with_text: set[str] = dataclasses.field(default_factory=set)
    num_left_out: int = 0
    found: set[int] = dataclasses.field(default_factory=set)

    def add(self, with_text: Any, num_left_out: int, found: Any) -> None:
        """Add what was noted of another part of the text."""
        self.with_text.update(with_text)
        self.num_left_out += num_left_out
        self.found.update(found)

    def as_json(self) -> dict[str, Any]:
        """Return the arguments of `add`, which JSON has."""
        return {
            "with_text": sorted(self.with_text),
            "num_left_out": self.num_left_out,
            "found": sorted(self.found),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class WithoutConfig:
    """The documents to leave out.

    Attributes:
      without_documents: file with the documents to leave out, one per line, by id or as FILE:ROW,
        as provenance and ledgers name them; the others keep their rows. Names that match no
        document are listed beside the output, in without.NAME.not_found.txt.
      strict_without: with `without_documents`: a name that matches no document is an error.
    """

    without_documents: str | None = None
    strict_without: bool = False

    def find_without(self, **names: str) -> Without | None:
        """Read the list, if there is one; `names` are the last attributes of `Without`."""
        path = self.without_documents
        if path is None:
            if self.strict_without:
                raise ValueError("`strict_without` needs `without_documents`")
            return None
        without = Without(path=path, sha256=_digest(storage.read_bytes(path)), **names)
        _read(path, without.sha256)
        return without


def not_found_path(output: str) -> str:
    """Return the path of the list of names that no document has, beside a set or store."""
    folder, name = os.path.split(output)
    return os.path.join(folder, f"without.{name}.not_found.txt")
