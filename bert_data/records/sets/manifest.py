"""The manifest of a set of shards: what made them, and the size and checksum of each.

    {"format": "bert_data records", "format_version": 1, "output_format": "tfrecord",
     "record_layout": "ragged", "max_seq_length": 128, ...,
     "vocabulary": {"size": 30522, "sha256": "..."},
     "files": [{"name": "train.tfrecord", "num_records": 1234, "num_bytes": 987654, "crc32c": ...}]}

It is written last, so a set without its manifest may be incomplete. Reader and trainer compare
their settings with it. Each Parquet file holds it too, without "files".
"""

import dataclasses
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import bert_data
from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.records.choices import DEFAULT, LAYOUTS
from bert_data.records.fields import LABELLED
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.registry import (
    SHARD_COMPRESSIONS,
    SHARD_FORMATS,
    TFRECORD,
    find_shard_format,
)
from bert_data.records.formats.tfrecord import INDEX_PREFIX, index_path
from bert_data.records.masking.choosing import MASKINGS
from bert_data.records.masking.config import MaskingConfig
from bert_data.records.objectives import OBJECTIVES, Objective, find_objective
from bert_data.settings import check_settings
from bert_data.tokens.vocabulary import VocabularyNote

MANIFEST_PREFIX = "manifest."
FORMAT, SAMPLES_FORMAT = "bert_data records", "bert_data samples"
FORMAT_VERSION, FORMAT_VERSION_OF_PARTITIONS = 1, 2
"""Sets of partitions have version 2. In those of version 1, which can be read, too, a partition was
a range of the text, and all partitions dealt their records to all shards."""

PROGRAM = "program_functions"
"""The flag that names functions of a program's own, which made a set."""

_OF_SHARD = re.compile(r"-\d{5}-of-\d{5}\Z")
_FORMAT_WITHIN_BYTES = 100  # of a manifest: it comes first


class _Name(TypedDict):
    name: str


class _Names(TypedDict):
    files: list[_Name]


class _Shown(TypedDict):
    mask: float
    random: float
    keep: float


class _MaskedFlags(TypedDict, total=False):
    """The flags that readers rely on."""

    masked_lm_prob: float
    shown: _Shown
    special_tokens: dict[str, str]


class _LabelledFlags(TypedDict):
    do_lower_case: bool
    sentences: str
    text_columns: list[str]
    text_features: NotRequired[list[str]]
    label_feature: NotRequired[str]
    classes: list[Any]
    cls_id: int
    sep_id: int


class _Masked(TypedDict):
    flags: _MaskedFlags


class _LabelledCounts(TypedDict):
    labels: dict[str, int]


class _Labelled(TypedDict):
    flags: _LabelledFlags
    counts: _LabelledCounts


@dataclasses.dataclass(frozen=True)
class ListedFiles:
    """The files of a manifest of any format."""

    files: tuple[ManifestFile, ...]


def manifest_path(set_name: str) -> str:
    """Return the path of the manifest of a set, named `path` of path@N, or its first file."""
    folder, name = os.path.split(set_name)
    return os.path.join(folder, f"{MANIFEST_PREFIX}{name}.json")


def is_sidecar(path: str) -> bool:
    """Whether a path is an index or a manifest by its name."""
    name = os.path.basename(path)
    return (name.startswith(INDEX_PREFIX) and name.endswith(".npy")) or (
        name.startswith(MANIFEST_PREFIX) and name.endswith(".json")
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Manifest:
    """The settings that made a set of records, and its files.

    Attributes:
      record_layout: one of `records.fields.LAYOUTS`, or "labelled".
      compression: of the files: one of `SHARD_COMPRESSIONS`, or the format's own.
      max_seq_length, max_predictions_per_seq: limits of a record.
      flags: the other settings that made the records.
      counts: of the text (documents, sentences, tokens ...) and of the instances.
      empty_inputs: files of text that gave no document, named from the folder that all share; no
        shard holds it.
      files: the shards, in the order in which records were dealt to them.
      created_by: program and version.
    """

    created_by: str = f"bert_data {bert_data.__version__}"
    output_format: str = TFRECORD
    record_layout: str
    compression: str
    max_seq_length: storage.Count
    max_predictions_per_seq: storage.Count
    random_seed: int
    vocabulary: VocabularyNote
    flags: Mapping[str, Any]
    counts: Mapping[str, Mapping[str, int]]
    empty_inputs: tuple[str, ...] = ()
    files: tuple[ManifestFile, ...]

    def __post_init__(self) -> None:
        check_settings(self)

    @functools.cached_property
    def by_name(self) -> Mapping[str, ManifestFile]:
        """The shards, by their names."""
        return {file.name: file for file in self.files}

    @property
    def objective(self) -> Objective:
        """The objective of the records."""
        return find_objective(str(self.flags.get("next_sentence", DEFAULT)))

    def to_json(self) -> str:
        """Return the text of the manifest's file."""
        version = FORMAT_VERSION_OF_PARTITIONS if "num_partitions" in self.flags else FORMAT_VERSION
        data = dataclasses.asdict(self)
        if not self.empty_inputs:
            del data["empty_inputs"]
        return _to_json(FORMAT, version, data)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleManifest:
    """The settings that made a set of GPT samples, and its files.

    Attributes:
      description: the settings; JSON.
      files: the shards, in the order in which samples were dealt to them.
    """

    description: Mapping[str, Any]
    files: tuple[ManifestFile, ...] = ()

    def to_json(self) -> str:
        """Return the text of the manifest's file."""
        data = {
            "created_by": f"bert_data {bert_data.__version__}",
            **self.description,
            "files": list(map(dataclasses.asdict, self.files)),
        }
        return _to_json(SAMPLES_FORMAT, FORMAT_VERSION, data)


def _to_json(format_: str, version: int, data: Mapping[str, Any]) -> str:
    return storage.json_text({"format": format_, "format_version": version, **data})


def read_manifest(path: str) -> Manifest:
    """Read a manifest."""
    return parse_manifest(storage.read_bytes(path), path)


def parse_manifest(text: bytes, path: str) -> Manifest:
    """Parse the JSON of a manifest; `path` is for errors."""
    header = storage.decode_json(text, path, storage.FormatHeader)
    versions = FORMAT_VERSION, FORMAT_VERSION_OF_PARTITIONS
    if header.format != FORMAT or header.format_version not in versions:
        readable = f"{FORMAT!r} version {' or '.join(map(str, versions))} can be read"
        actual = f"{header.format!r} version {header.format_version}"
        raise CorruptDataError(path, 0, f"{actual}; {readable}")
    manifest = storage.decode_json(text, path, Manifest)
    storage.decode_json(text, path, _Labelled if manifest.record_layout == LABELLED else _Masked)
    is_known = manifest.output_format in SHARD_FORMATS
    own = find_shard_format(manifest.output_format).compression if is_known else None
    if (
        not is_known
        or manifest.record_layout not in (*LAYOUTS, LABELLED)
        or manifest.compression not in (*SHARD_COMPRESSIONS, own)
        or str(manifest.flags.get("next_sentence", DEFAULT)) not in OBJECTIVES
        or str(manifest.flags.get("masking", MaskingConfig.masking)) not in MASKINGS
    ):
        what = "output_format, record_layout, compression, next_sentence or masking"
        raise CorruptDataError(path, 0, f"an unknown {what}")
    return manifest


def find_manifest(shard: str) -> Manifest | None:
    """Return the manifest beside a shard that lists it, or None."""
    folder, name = os.path.split(shard)
    for path in list_manifests(folder):
        manifest = read_manifest(path)
        if name in manifest.by_name:
            return manifest
    return None


def list_manifests(folder: str, formats: Sequence[str] = (FORMAT,)) -> list[str]:
    """Return the paths of the manifests of some formats in a folder, sorted by name."""
    paths = []
    for path in storage.glob(os.path.join(storage.escape(folder), f"{MANIFEST_PREFIX}*.json")):
        with storage.open_input(path) as file:
            if is_manifest(file.read(_FORMAT_WITHIN_BYTES), formats):
                paths.append(path)
    return paths


def manifests_beside(shards: Iterable[str], formats: Sequence[str]) -> Iterator[str]:
    """Yield the paths of the manifests of some formats in the folders of local shards."""
    for folder in dict.fromkeys(
        os.path.dirname(path) for path in shards if not storage.is_remote(path)
    ):
        yield from list_manifests(folder, formats)


@storage.side_files
def _indexes_and_manifests(paths: Sequence[str]) -> Iterator[str]:
    """Yield the indexes of shards, and the manifests that list them; remote ones by their names."""
    shards = set(paths)
    for path in paths:
        yield index_path(path)
        yield manifest_path(_OF_SHARD.sub("", path))
    for manifest in manifests_beside(paths, (FORMAT, SAMPLES_FORMAT)):
        if not shards.isdisjoint(listed_shards(manifest)):
            yield manifest


def is_manifest(text: bytes, formats: Sequence[str] = (FORMAT,)) -> bool:
    """Whether JSON is a manifest of one of these formats, by how it begins."""
    return any(name.encode() in text[:_FORMAT_WITHIN_BYTES] for name in formats)


def listed_shards(manifest: str) -> list[str]:
    """Return the paths of the shards that a manifest lists; [] if it is damaged."""
    try:
        names = [file["name"] for file in storage.read_json(manifest, _Names)["files"]]
    except (OSError, CorruptDataError):
        return []
    folder = os.path.dirname(manifest)
    return [os.path.join(folder, name) for name in names if os.path.basename(name) == name]
