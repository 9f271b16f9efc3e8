"""Cards of what each command writes: what the hub reads of them, and what the manifests count."""

import json
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import DatasetCard

import bert_data
from bert_data.errors import CorruptDataError
from bert_data.hub.dataset_card import size_category, write_dataset_card
from bert_data.hub.export_config import DatasetCardConfig
from bert_data.storage import read_bytes, write_bytes

TEXTS = [" ".join(["the", "cat", "sat"] * (1 + number % 9)) for number in range(60)]
KEPT = [text for text in TEXTS if len(text.split()) >= 5]
FILE = {"name": "a.jsonl", "num_documents": 3, "num_bytes": 9}
CURATION = {"format": "bert_data curation", "format_version": 1, "files": [FILE], "counts": []}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in TEXTS))
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat"]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    return folder


def write(manifest: Path, **options: Any) -> tuple[DatasetCard, Any]:
    """A card as the hub's library reads it, and its settings."""
    path = write_dataset_card(DatasetCardConfig(input_file=str(manifest), **options))
    card = DatasetCard.load(path)
    return card, json.loads(card.text.partition("```json\n")[2].removesuffix("```\n"))


def test_curated_documents(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sixteen letters.")
    steps = ["length:min_words=5", f"privacy:email=pseudonym,key_file={tmp_path}/key"]
    output_file = folder / "kept.jsonl.gz@2"
    bert_data.curate(folder / "in.jsonl", steps=steps, output_file=output_file, num_workers=1)
    manifest = folder / "curation.kept.jsonl.gz.json"
    card, settings = write(manifest, license="odc-by", languages="en,de", name="Kept")
    values = card.data.to_dict()
    assert values["license"] == "odc-by" and values["language"] == ["en", "de"]
    assert values["pretty_name"] == "Kept" and values["size_categories"] == ["n<1K"]
    assert f"{len(KEPT)} documents in 2 files, " in card.text
    num_bytes = sum(len(text.encode()) for text in KEPT)
    rejected = len(TEXTS) - len(KEPT)
    assert f"| length | {len(KEPT)} | {num_bytes:,} | {rejected} |\n" in card.text
    assert settings["steps"][1]["parameters"]["key_file"] == "key"
    datasets = pytest.importorskip("datasets")
    rows = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path))
    assert sorted(rows["text"]) == sorted(KEPT)


def test_what_the_hub_cannot_show(folder: Path, tmp_path: Path) -> None:
    vocabulary = str(folder / "vocab.txt")
    bert_data.tokenize(folder / "in.jsonl", folder / "web", vocab_file=vocabulary)
    bert_data.create_records(
        folder / "in.jsonl", folder / "train@2", vocab_file=vocabulary, max_seq_length=16
    )
    for manifest, said in (
        ("web.store.json", f"# web\n\n{len(TEXTS)} documents in 2 files, "),
        ("manifest.train.json", " records in 2 files, "),
    ):
        card, settings = write(folder / manifest, overwrite=True)
        assert {*card.data.to_dict()} == {"pretty_name", "size_categories", "viewer"}
        assert card.data.viewer is False and said in card.text
        counted = settings["counts"].get("text", settings["counts"])
        assert counted["num_tokens"] == sum(len(text.split()) for text in TEXTS)
        assert settings["vocabulary"]["size"] == 8 and str(folder) not in card.content
    samples = {"format": "bert_data samples", "format_version": 1, "split_name": "valid"}
    shards = [{"name": f"{number}.parquet", "num_records": 600, "num_bytes": 9} for number in "ab"]
    request = {"input": [f"{folder}/web"]}
    manifest = tmp_path / "manifest.gpt.parquet.json"
    manifest.write_text(json.dumps({**samples, "files": shards, "request": request}))
    card, settings = write(manifest, overwrite=True)
    assert settings == {"split_name": "valid"} and card.data.size_categories == ["1K<n<10K"]
    files = [{"split": "valid", "path": ["a.parquet", "b.parquet"]}]
    assert card.data.configs == [{"config_name": "default", "data_files": files}]


@pytest.mark.parametrize(
    ("name", "content", "error", "sentence"),
    [
        ("in.jsonl", {}, ValueError, "in.jsonl'; it must be curation.NAME.json, PREFIX"),
        ("manifest.a.json", {"format": "other", "format_version": 1}, ValueError, "is 'other'"),
        ("curation.a.json", {**CURATION, "files": [{"name": "a"}]}, CorruptDataError, "num_bytes"),
        ("curation.a.json", {**CURATION, "counts": 1}, CorruptDataError, "counts"),
        (
            "a.store.json",
            {**CURATION, "format": "bert_data token store"},
            CorruptDataError,
            "files",
        ),
    ],
)
def test_mistakes(
    name: str, content: object, error: type[Exception], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(error, match=sentence):
        write(tmp_path / name)
    assert not (tmp_path / "README.md").exists()


def test_a_card_in_a_bucket_is_replaced_only_if_asked(object_store: Any) -> None:
    manifest = object_store.uri("d/curation.a.jsonl.json")
    write_bytes(manifest, json.dumps(CURATION).encode())
    assert write_dataset_card(DatasetCardConfig(input_file=manifest)) == object_store.uri(
        "d/README.md"
    )
    first = read_bytes(object_store.uri("d/README.md"))
    assert b"3 documents in 1 file, 9 bytes, made by bert_data." in first
    with pytest.raises(FileExistsError, match="overwrite"):
        write_dataset_card(DatasetCardConfig(input_file=manifest, name="b"))
    assert read_bytes(object_store.uri("d/README.md")) == first
    write_dataset_card(DatasetCardConfig(input_file=manifest, name="b", overwrite=True))
    assert b"# b\n" in read_bytes(object_store.uri("d/README.md"))


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (10**9, "1B<n<10B"), (10**12, "n>1T")],
)
def test_sizes(number: int, name: str) -> None:
    assert size_category(number) == name
