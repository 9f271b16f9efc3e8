"""The manifest of a set of shards: what made them, and what whole files look like.

    {"format": "bert_data records", "format_version": 1, "output_format": "tfrecord",
     "record_layout": "ragged", "max_seq_length": 128, ...,
     "vocabulary": {"size": 30522, "sha256": "..."},
     "files": [{"name": "train.tfrecord", "num_records": 1234, "num_bytes": 987654, "crc32c": ...}]}

It is written last: a set without its manifest is not known to be whole. Reader and trainer hold
their own settings against it. Parquet files hold it themselves, too, without "files".
"""

import dataclasses
import glob
import json
import os
from collections.abc import Mapping
from typing import Any

import bert_data
from bert_data import features
from bert_data.errors import CorruptDataError
from bert_data.objectives.next_sentence import NEXT_SENTENCE, NSP
from bert_data.records.sidecars import MANIFEST_PREFIX

FORMAT = "bert_data records"
FORMAT_VERSION = 1
_FORMAT_WITHIN_BYTES = 100  # of a manifest: it comes first


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManifestFile:
    """A shard: its name beside the manifest, its records, and its bytes as they are on disk."""

    name: str
    num_records: int
    num_bytes: int
    crc32c: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Manifest:
    """What is known of a set of shards.

    Attributes:
      record_layout: one of `features.LAYOUTS`, or `features.LABELLED`.
      compression: one of `features.COMPRESSIONS`, or `features.ZSTD` for Parquet.
      max_seq_length, max_predictions_per_seq: the most a record holds.
      random_seed: of the instances.
      vocab_size, vocab_sha256: of the vocabulary; the digest is that of the file's bytes.
      flags: the other settings that made the records.
      counts: of the text (documents, sentences, tokens ...) and of the instances.
      files: the shards, in the order in which records were dealt to them.
      output_format: one of `features.OUTPUT_FORMATS`.
      created_by: program and version.
    """

    record_layout: str
    compression: str
    max_seq_length: int
    max_predictions_per_seq: int
    random_seed: int
    vocab_size: int
    vocab_sha256: str
    flags: Mapping[str, Any]
    counts: Mapping[str, Mapping[str, int]]
    files: tuple[ManifestFile, ...]
    output_format: str = features.TFRECORD
    created_by: str = f"bert_data {bert_data.__version__}"

    @property
    def next_sentence(self) -> str:
        """What the records ask about two segments, one of `objectives.next_sentence`."""
        return str(self.flags.get("next_sentence", NSP))

    def to_json(self) -> str:
        """The manifest as the text of its file."""
        data = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "created_by": self.created_by,
            "output_format": self.output_format,
            "record_layout": self.record_layout,
            "compression": self.compression,
            "max_seq_length": self.max_seq_length,
            "max_predictions_per_seq": self.max_predictions_per_seq,
            "random_seed": self.random_seed,
            "vocabulary": {"size": self.vocab_size, "sha256": self.vocab_sha256},
            "flags": dict(self.flags),
            "counts": dict(self.counts),
            "files": [dataclasses.asdict(file) for file in self.files],
        }
        return json.dumps(data, indent=1) + "\n"


def read_manifest(path: str) -> Manifest:
    """Reads a manifest.

    Raises:
      OSError: the file cannot be read.
      CorruptDataError: it is not a manifest of this format.
    """
    with open(path, "rb") as file:
        return parse_manifest(file.read(), path)


def parse_manifest(text: bytes, path: str) -> Manifest:
    """Reads a manifest from its JSON.

    Args:
      text: JSON.
      path: of the file that it stands in, for the error.

    Raises:
      CorruptDataError: it is not a manifest of this format.
    """
    try:
        data = json.loads(text)
        if data["format"] != FORMAT or data["format_version"] != FORMAT_VERSION:
            found = f"{data['format']!r} version {data['format_version']}"
            raise CorruptDataError(
                path, 0, f"{found}; {FORMAT!r} version {FORMAT_VERSION} can be read"
            )
        manifest = Manifest(
            record_layout=data["record_layout"],
            compression=data["compression"],
            max_seq_length=data["max_seq_length"],
            max_predictions_per_seq=data["max_predictions_per_seq"],
            random_seed=data["random_seed"],
            vocab_size=data["vocabulary"]["size"],
            vocab_sha256=data["vocabulary"]["sha256"],
            flags=data["flags"],
            counts=data["counts"],
            files=tuple(ManifestFile(**file) for file in data["files"]),
            output_format=data.get("output_format", features.TFRECORD),
            created_by=data["created_by"],
        )
        strangers = [f.name for f in manifest.files if os.path.basename(f.name) != f.name]
        if strangers:
            raise CorruptDataError(path, 0, f"{strangers[0]!r} is no name of a file beside it")
    except json.JSONDecodeError as error:
        raise CorruptDataError(path, error.pos, f"not JSON ({error.msg})") from error
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise CorruptDataError(path, 0, f"not a manifest of records ({error!r})") from error
    if (
        manifest.output_format not in features.OUTPUT_FORMATS
        or manifest.record_layout not in (*features.LAYOUTS, features.LABELLED)
        or manifest.compression not in (*features.COMPRESSIONS, features.ZSTD)
        or manifest.next_sentence not in NEXT_SENTENCE
    ):
        what = "output_format, record_layout, compression or next_sentence"
        raise CorruptDataError(path, 0, f"an unknown {what}")
    return manifest


def find_manifest(shard: str) -> Manifest | None:
    """The manifest beside a shard that lists it, or None.

    Raises:
      CorruptDataError: a manifest beside the shard is damaged or of another version.
    """
    folder, name = os.path.split(shard)
    for path in list_manifests(folder):
        manifest = read_manifest(path)
        if any(file.name == name for file in manifest.files):
            return manifest
    return None


def list_manifests(folder: str) -> list[str]:
    """The manifests in a folder, by their names; other programs' files of such names are none."""
    pattern = os.path.join(glob.escape(folder), f"{MANIFEST_PREFIX}*.json")
    return [path for path in sorted(glob.glob(pattern)) if _is_ours(path)]


def _is_ours(path: str) -> bool:
    with open(path, "rb") as file:
        return is_manifest(file.read(_FORMAT_WITHIN_BYTES))


def is_manifest(text: bytes) -> bool:
    """Whether JSON is that of a manifest of records, by how it begins."""
    return FORMAT.encode() in text[:_FORMAT_WITHIN_BYTES]
