"""The card of a data set for Hugging Face's hub, made of the manifest that lies beside the data.

    curation.web.jsonl.json  ->  README.md: YAML for the hub (licence, languages, size, the files
                                 that `datasets` loads), steps of curation, settings, counts

What the manifest does not say is left out.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from bert_data.hub.export_config import CARD, DatasetCardConfig
from bert_data.progress import how_many, size
from bert_data.storage import FormatHeader, decode_json, open_whole, read_bytes, refuse_existing

RECORDS, SAMPLES = "bert_data records", "bert_data samples"
STORE, CURATION = "bert_data token store", "bert_data curation"
_SETTINGS = {
    RECORDS: "output_format record_layout max_seq_length max_predictions_per_seq random_seed"
    " vocabulary flags counts",
    SAMPLES: "output_format split_name split seq_length seed weights eod_id",
    STORE: "vocabulary settings counts",
    CURATION: "steps",
}
"""The keys of each format that are shown; others hold paths, or what a card says in words."""
_NAMES = "curation.NAME.json, PREFIX.store.json or manifest.NAME.json"
_OF_MANIFEST = re.compile(r"(?:curation|manifest)\.(?P<set>.+)\.json|(?P<store>.+)\.store\.json")
_IS_LOADED = re.compile(r".+\.(?:parquet|(?:jsonl|ndjson|json)(?:\.gz|\.zst)?)")
_POWERS = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")


class _Step(TypedDict):
    label: str
    num_documents: int
    num_bytes: int
    num_rejected: int


class _File(TypedDict):
    num_bytes: int


class _NamedFile(_File):
    name: str
    num_documents: NotRequired[int]
    num_records: NotRequired[int]


class _Files(TypedDict):
    files: list[_NamedFile]


class _Curation(_Files):
    counts: list[_Step]


class _StoreCounts(TypedDict):
    num_documents: int


class _Store(TypedDict):
    files: dict[str, _File]
    counts: _StoreCounts


class _Facts(NamedTuple):
    """What a manifest says; `sizes` are the bytes of each file by its name."""

    unit: str
    num_items: int
    sizes: Mapping[str, int]
    steps: Sequence[_Step] = ()


def write_dataset_card(config: DatasetCardConfig) -> str:
    """Write a card beside the data, and return its path.

    Raises:
      ValueError: the file is no manifest by its name or content.
      CorruptDataError: the manifest is damaged.
      OSError: there is no such file, or the card exists already.
    """
    from huggingface_hub import DatasetCard, DatasetCardData

    folder, file_name = os.path.split(config.input_file)
    match = _OF_MANIFEST.fullmatch(file_name)
    if match is None:
        raise ValueError(f"input_file is {config.input_file!r}; it must be {_NAMES}")
    name = config.name or (match["set"] or match["store"]).partition(".")[0]
    path = os.path.join(folder, CARD)
    refuse_existing([path], overwrite=config.overwrite)
    content = read_bytes(config.input_file)
    header = decode_json(content, config.input_file, FormatHeader)
    if header.format not in _SETTINGS:
        raise ValueError(f"{config.input_file} is not a manifest: its format is {header.format!r}")
    facts = _facts_of(header.format, content, config.input_file, match["store"] or "")
    values = json.loads(content)
    settings = {key: values[key] for key in _SETTINGS[header.format].split() if key in values}
    are_loaded = all(map(_IS_LOADED.fullmatch, facts.sizes))
    files = {"split": values.get("split_name", "train"), "path": list(facts.sizes)}
    data = DatasetCardData(
        license=config.license,
        language=config.languages.split(",") if config.languages else None,
        pretty_name=name,
        size_categories=[size_category(facts.num_items)],
        **{"configs": [{"config_name": "default", "data_files": [files]}]}
        if are_loaded
        else {"viewer": False},  # the hub cannot show these files
    )
    text = "\n".join(_text(name, facts, settings, values.get("created_by", "bert_data")))
    card = DatasetCard(f"---\n{data.to_yaml()}\n---\n\n{text}")
    with open_whole(path) as file:
        file.write(str(card).encode(errors="replace"))
    return path


def _facts_of(kind: str, content: bytes, path: str, store: str) -> _Facts:
    if kind == STORE:
        notes = decode_json(content, path, _Store)
        sizes = {f"{store}.{ending}": file["num_bytes"] for ending, file in notes["files"].items()}
        return _Facts("document", notes["counts"]["num_documents"], sizes)
    files = decode_json(content, path, _Files)["files"]
    sizes = {file["name"]: file["num_bytes"] for file in files}
    if kind == CURATION:
        num_documents = sum(file.get("num_documents", 0) for file in files)
        steps = decode_json(content, path, _Curation)["counts"]
        return _Facts("document", num_documents, sizes, steps)
    num_records = sum(file.get("num_records", 0) for file in files)
    return _Facts("record" if kind == RECORDS else "sample", num_records, sizes)


def size_category(num_items: int) -> str:
    """Return the hub's name of a size: 1K<n<10K."""
    for power, name in enumerate(_POWERS, start=3):
        if num_items < 10**power:
            return f"n<{name}" if power == 3 else f"{_POWERS[power - 4]}<n<{name}"
    return f"n>{_POWERS[-1]}"


def _text(name: str, facts: _Facts, settings: Mapping[str, Any], created_by: str) -> Iterator[str]:
    yield f"# {name}\n"
    files = f"{how_many(len(facts.sizes), 'file')}, {size(sum(facts.sizes.values()))}"
    yield f"{how_many(facts.num_items, facts.unit)} in {files}, made by {created_by}.\n"
    if facts.steps:
        yield "## Curation\n"
        yield "The documents that each step left, and those that it rejected.\n"
        yield "| step | documents | bytes of text | rejected |\n| --- | ---: | ---: | ---: |"
        for step in facts.steps:
            numbers = (step["num_documents"], step["num_bytes"], step["num_rejected"])
            yield f"| {step['label']} | {' | '.join(f'{number:,}' for number in numbers)} |"
        yield ""
    yield "## Settings and counts\n"
    told = json.dumps(without_folders(settings), indent=1, ensure_ascii=False)
    yield f"```json\n{told}\n```\n"


def without_folders(value: Any) -> Any:
    """Return a value of JSON without the folders of files, which are nobody else's business."""
    if isinstance(value, dict):
        return {name: without_folders(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_folders(each) for each in value]
    is_path = isinstance(value, str) and (value.startswith("/") or "://" in value)
    return os.path.basename(value.rstrip("/")) if is_path else value
