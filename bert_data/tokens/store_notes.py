"""What made a token store: PREFIX.store.json beside PREFIX.bin and PREFIX.idx.

    {"format": "bert_data token store", "vocabulary": {"size": 30522, "sha256": "..."},
     "settings": {"level": "sentence", ...}, "inputs": [{"name": "a.txt", "num_bytes": 70}],
     "tokenizer": {"backend": "wordpiece", ...}, "counts": {"num_documents": 3, ...},
     "files": {"bin": {"num_bytes": 64, "crc32": 7}, ...}}

Stores of other programs have no notes. The same text, flags and libraries give the same notes on
every machine.
"""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import bert_data
from bert_data.errors import CorruptDataError
from bert_data.storage import JsonObject, OutputSet, file_size, parse_json, read_bytes
from bert_data.tokens.store_writer import FileSummary

FORMAT = "bert_data token store"
FORMAT_VERSION = 1
ENDINGS = ("bin", "idx")
_COUNTED = ("num_documents", "num_sentences", "num_tokens")


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreNotes:
    """How a store was made.

    Attributes:
      vocab_size, vocab_sha256: of the vocabulary or the tokenizer.json.
      settings: level, eod_id, bos_id (if there is one), empty_documents, dtype, id_limit (above all
        ids), and how the text was read.
      inputs: for each file its name (without folders), its size in bytes, the CRC-32 of its first
        and last bytes, and the part that was read.
      counts: the fields of `TokenCounts`.
      files: of PREFIX.bin and PREFIX.idx.
      tokenizer: what ran the tokenizer, and why; the files do not depend on it.
    """

    vocab_size: int
    vocab_sha256: str
    settings: Mapping[str, Any]
    inputs: Sequence[Mapping[str, Any]]
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    files: tuple[FileSummary, ...] = ()
    tokenizer: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def made_from(self) -> dict[str, Any]:
        """All that the two files depend on."""
        return {
            "vocabulary": {"size": self.vocab_size, "sha256": self.vocab_sha256},
            "settings": dict(self.settings),
            "inputs": [dict(each) for each in self.inputs],
        }

    def to_json(self) -> str:
        """Return the notes as the text of their file."""
        files = dict(zip(ENDINGS, map(dataclasses.asdict, self.files), strict=True))
        data = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "created_by": f"bert_data {bert_data.__version__}",
            **self.made_from,
            "tokenizer": dict(self.tokenizer),
            "counts": dict(self.counts),
            "files": files,
        }
        return json.dumps(data, indent=1) + "\n"


def notes_path(prefix: str) -> str:
    """Return the path of a store's notes."""
    return prefix + ".store.json"


def store_paths(prefix: str) -> list[str]:
    """Return the files of a store, its notes last; the notes are optional."""
    return [*(f"{prefix}.{ending}" for ending in ENDINGS), notes_path(prefix)]


def read_notes(prefix: str) -> StoreNotes | None:
    """Return the notes of a store, or None if there are none.

    Raises:
      CorruptDataError: it does not hold notes.
    """
    path = notes_path(prefix)
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        return None
    data = JsonObject(parse_json(content, path), path)
    if data.take("format", str) != FORMAT or data.count("format_version") != FORMAT_VERSION:
        raise CorruptDataError(path, 0, f"not the notes of a {FORMAT}, version {FORMAT_VERSION}")
    vocabulary, settings, files = (data.object(n) for n in ("vocabulary", "settings", "files"))
    _check_settings(settings)
    binary, index = (files.object(ending) for ending in ENDINGS)
    counts = data.object("counts")
    for name in _COUNTED:
        counts.count(name)
    return StoreNotes(
        vocab_size=vocabulary.count("size"),
        vocab_sha256=vocabulary.take("sha256", str),
        settings=settings.values,
        inputs=[each.values for each in data.objects("inputs")],
        counts=counts.counts(),
        files=(_summary(binary), _summary(index)),
        tokenizer=_strings(data),
    )


def _check_settings(settings: JsonObject) -> None:
    """Check the settings that readers of a store rely on; others are only compared."""
    settings.take("level", str)
    settings.count("id_limit")
    if settings.take_or_null("eod_id", int) is not None:
        settings.count("eod_id")
    if settings.values.get("bos_id") is not None:
        settings.count("bos_id")
    settings.take_or_null("do_lower_case", bool)


def _strings(data: JsonObject) -> Mapping[str, str]:
    """Return what ran the tokenizer; {} in the notes of earlier versions."""
    if "tokenizer" not in data.values:
        return {}
    tokenizer = data.object("tokenizer")
    return {name: tokenizer.take(name, str) for name in tokenizer.values}


def _summary(file: JsonObject) -> FileSummary:
    return FileSummary(num_bytes=file.count("num_bytes"), crc32=file.count("crc32"))


def commit_store(outputs: OutputSet, prefix: str, source: str, notes: StoreNotes | None) -> None:
    """Give a store its final names.

    Args:
      outputs: a set of the files of `store_paths(prefix)`.
      source: prefix of its two files now.
      notes: of the store, or None.
    """
    binary, index, notes_file = store_paths(prefix)
    for ending, path in zip(ENDINGS, (binary, index), strict=True):
        outputs.take_in(path, f"{source}.{ending}")
    if notes is None:
        outputs.commit([binary], [index])
        return
    with outputs.open(notes_file) as file:
        file.write(notes.to_json().encode())
    outputs.commit([binary], [index, notes_file])


def check_files(prefix: str, notes: StoreNotes) -> None:
    """Compare the sizes of a store's files with its notes.

    Raises:
      CorruptDataError: one has another size.
    """
    for ending, expected in zip(ENDINGS, notes.files, strict=True):
        path = f"{prefix}.{ending}"
        size = file_size(path)
        if size != expected.num_bytes:
            reason = f"has {size} bytes; {os.path.basename(notes_path(prefix))} says"
            raise CorruptDataError(path, size, f"{reason} {expected.num_bytes}")
