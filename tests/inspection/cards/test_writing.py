"""Cards of curated files, token stores and records, against counts made in plain Python."""

import json
import math
import random
from collections import Counter
from pathlib import Path

import pytest
import yaml

import bert_data
from bert_data.inspection.cards.card_config import CardConfig, SourceKinds
from bert_data.inspection.cards.hugging_face import size_category
from bert_data.inspection.cards.writing import write_cards
from bert_data.storage import read_bytes, write_bytes
from bert_data.text.documents import TextConfig
from bert_data.tokens.places import ProvenanceConfig

COVERS = (
    "inspection/cards/about",
    "inspection/cards/card_config",
    "inspection/cards/croissant",
    "inspection/cards/european",
    "inspection/cards/facts",
    "inspection/cards/hugging_face",
)

WORDS = ["the", "cat", "sat", "on", "a", "mat"]
CHARACTERISTICS = "1.3. Modalities, overall training data size and other characteristics"
ABOUT = {
    "license": "CC-BY-4.0",
    "creator": "Lab",
    "url": "https://lab.example",
    "published": "2026-01-31",
    "data_version": "1.0.0",
    "citation": "Lab, 2026",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with in.jsonl, and what was made of it; its rows."""
    folder = tmp_path_factory.mktemp("data")
    draw = random.Random(7)
    rows = []
    for number in range(300):
        row = {"text": " ".join(draw.choices(WORDS, k=draw.randint(2, 30))), "id": f"d{number}"}
        if draw.random() < 0.9:
            host = f"{draw.choice(['www.', 'a.b.', ''])}site{draw.randint(0, 59)}.co.uk"
            row["url"] = f"https://{host}/{number}"
        if draw.random() < 0.7:
            row["license"] = draw.choice(["CC0-1.0", "CC-BY-4.0"])
        row["collection"] = draw.choice(["web", "wiki"])
        row["date"] = f"2024-{draw.randint(1, 12):02}-0{draw.randint(1, 9)}T00:00:00Z"
        row["language"] = draw.choice(["en", "de"])
        rows.append(row)
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    vocabulary = str(folder / "vocab.txt")
    bert_data.tokenize(
        folder / "in.jsonl", folder / "store", vocab_file=vocabulary, source_field="collection"
    )
    bert_data.curate(
        folder / "in.jsonl", steps="length:min_words=5", output_file=folder / "kept.jsonl.gz@2",
        num_workers=1,
    )  # fmt: skip
    bert_data.create_records(
        folder / "in.jsonl", folder / "train.parquet", vocab_file=vocabulary, dupe_factor=1,
        output_format="parquet", max_seq_length=32, max_predictions_per_seq=5,
    )  # fmt: skip
    return folder, rows


def write(name, kinds=None, fields=None, **options):
    config = CardConfig(input_file=str(name), **options)
    source_field = {"source_field": "collection"} if fields is None else fields
    report = write_cards(
        config,
        SourceKinds(**(kinds or {})),
        TextConfig(keep_fields=True),
        ProvenanceConfig(**source_field),
    )
    return {Path(path).name: Path(path).read_text() for path in report.paths}


def tables(text):
    """The rows of all tables below each heading, as texts."""
    found, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| ") and "---" not in line:
            cells = [cell.strip().replace("\\", "") for cell in line.strip("| ").split(" | ")]
            found.setdefault(heading, []).append(cells)
    return found


def totals(rows, key, volume):
    """(name, documents, volume) of rows in plain Python, the largest first."""
    counts, volumes = Counter(), Counter()
    for row in rows:
        if key(row) is not None:
            counts[key(row)] += 1
            volumes[key(row)] += volume(row)
    return sorted(((n, counts[n], volumes[n]) for n in counts), key=lambda t: (-t[2], t[0]))


def domain(row):
    return ".".join(row["url"].split("/")[2].split(".")[-3:]) if "url" in row else None


def num_words(row):
    return len(row["text"].split())


def num_bytes(row):
    return len(row["text"].encode())


def as_cells(expected, whole):
    return [
        [name, f"{count:,}", f"{volume:,}", f"{100 * volume / whole:.1f}%"]
        for name, count, volume in expected
    ]


def croissant(path):
    import mlcroissant

    dataset = mlcroissant.Dataset(jsonld=str(path))
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    assert dataset.metadata.ctx.is_v1_1()
    return dataset, issues.warnings


@pytest.mark.filterwarnings("ignore")  # of mlcroissant's own packages
def test_a_store(data, tmp_path):
    folder, rows = data
    kinds = {"crawled_sources": "web", "public_sources": "wiki"}
    cards = write(folder / "store", kinds, **ABOUT, cards="eu,huggingface,croissant")
    web = [row for row in rows if row["collection"] == "web"]
    whole = sum(map(num_words, rows))
    europe = tables(cards["training_content.md"])
    general = dict(europe[CHARACTERISTICS][1:])
    assert general["Tokens"] == f"{whole:,}" and general["Documents"] == "300"
    assert general["Training data size"] == "Less than 1 billion tokens"
    latest = general["Latest date of data acquisition/collection"]
    assert latest.endswith(max(row["date"] for row in web)[:10])
    sources = as_cells(totals(rows, lambda row: row["collection"], num_words), whole)
    section = europe["2.3. Data crawled and scraped from online sources"]
    assert section[1] in sources and section[1][0] == "web"
    (wiki,) = europe["2.1. Publicly available datasets"][1:]
    assert wiki in sources and wiki[0] == "wiki"
    expected = totals(web, domain, num_words)
    top = expected[: math.ceil(len(expected) / 10)]
    assert section[3:] == as_cells(top, whole) and len(top) > 3
    hub = tables(cards["README.md"])
    licences = totals(rows, lambda row: row.get("license", "not known"), num_words)
    assert sorted(hub["Licences"][1:]) == sorted(as_cells(licences, whole))
    assert "Not known: no document has the field." in cards["README.md"]  # of a language
    dataset, warnings = croissant(folder / "croissant.json")
    assert not warnings
    records = [*dataset.records("documents")]
    assert [record["documents/id"].decode() for record in records] == [row["id"] for row in rows]
    assert [record["documents/row"] for record in records] == [*range(1, 301)]
    for name in cards:
        (folder / name).unlink()


@pytest.mark.filterwarnings("ignore")  # of mlcroissant's own packages
def test_curated_files(data, tmp_path, monkeypatch):
    folder, rows = data
    kept = [row for row in rows if num_words(row) >= 5]
    assert len(kept) < len(rows)
    cards = write(folder / "kept*.gz", **{**ABOUT, "license": "ODC-By-1.0"}, languages=None)
    whole = sum(map(num_bytes, kept))
    hub = tables(cards["README.md"])
    assert hub["Domains"][1:] == as_cells(totals(kept, domain, num_bytes)[:20], whole)
    languages = totals(kept, lambda row: row["language"], num_bytes)
    assert hub["Languages"][1:] == as_cells(languages, whole)
    rejected = len(rows) - len(kept)
    assert hub["Curation"][2] == [
        "length", f"{len(kept)}", f"{whole:,}", f"{rejected}", f"min_words {rejected}"
    ]  # fmt: skip
    head = yaml.safe_load(cards["README.md"].split("---\n")[1])
    assert head["license"] == "odc-by" and head["size_categories"] == ["n<1K"]
    assert head["language"] == [name for name, _, _ in languages]
    dataset, warnings = croissant(folder / "croissant.json")
    assert not warnings
    texts = [record["documents/text"].decode() for record in dataset.records("documents")]
    assert sorted(texts) == sorted(row["text"] for row in kept)
    huggingface_hub = pytest.importorskip("huggingface_hub")
    loaded = huggingface_hub.DatasetCard(cards["README.md"])
    assert loaded.data.configs == head["configs"] and loaded.data.license == "odc-by"
    datasets = pytest.importorskip("datasets")
    rows_of_hub = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path))
    assert sorted(rows_of_hub["text"]) == sorted(texts)
    for name in cards:
        (folder / name).unlink()


@pytest.mark.filterwarnings("ignore")  # of mlcroissant's own packages
def test_records_know_no_origins(data, tmp_path):
    folder, rows = data
    cards = write(folder / "train.parquet", output_dir=str(tmp_path / "cards"))
    assert "This is not known: the masked LM records do not say it." in cards["README.md"]
    assert "domain names crawled: not known." in cards["training_content.md"]
    sections = tables(cards["training_content.md"])
    general = dict(sections[CHARACTERISTICS][1:])
    assert general["Tokens"] == f"{sum(map(num_words, rows)):,}"
    provider = dict(sections["1.1. Provider identification"][1:])
    assert {*provider.values(), general["Licences of documents"]} == {"not known"}
    described = json.loads(cards["croissant.json"])
    assert not {"license", "url", "creator", "datePublished"} & {*described}
    (tmp_path / "cards" / "train.parquet").write_bytes((folder / "train.parquet").read_bytes())
    dataset, warnings = croissant(tmp_path / "cards" / "croissant.json")
    assert len(warnings) == 4
    (first, *_) = dataset.records("records")
    assert first["records/tokens"][0] == 2 and first["records/masked_labels"]
    head = yaml.safe_load(cards["README.md"].split("---\n")[1])
    assert head["license"] == "unknown" and "language" not in head
    assert {"name": "tokens", "list": "int32"} in head["dataset_info"]["features"]


@pytest.mark.slow
def test_many_domains_are_in_a_file(tmp_path, monkeypatch):
    rows = [{"text": "a" * (n % 7 + 1), "url": f"http://s{n}.com"} for n in range(12_345)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "in.jsonl").write_text(text)
    top = sorted((-len(row["text"]), row["url"][7:]) for row in rows)[:1235]
    listed = "".join(f"{name},1,{-volume}\n" for volume, name in top)
    cards = write(tmp_path / "in.jsonl", cards="eu")
    assert cards["top_domains.csv"] == f"domain,documents,bytes of text\n{listed}"
    in_text = tables(cards["training_content.md"])
    section = in_text["2.3. Data crawled and scraped from online sources"]
    assert [row[0] for row in section[1:]] == [name for _, name in top[:1000]]
    small = write(tmp_path / "in.jsonl", cards="eu", small_company=True, overwrite=True)
    assert [*small] == ["training_content.md"] and not (tmp_path / "top_domains.csv").exists()
    section = tables(small["training_content.md"])[
        "2.3. Data crawled and scraped from online sources"
    ]
    assert len(section) == 1 + math.ceil(12_345 * 0.05)


@pytest.mark.parametrize(
    ("options", "kinds", "sentence"),
    [
        ({}, {"crawled_sources": "wbe"}, "no document has the source 'wbe'"),
        ({"cards": "eu,hf"}, {}, "cards is 'hf'; it must be one of croissant, huggingface, eu"),
        ({"published": "May"}, {}, "published is 'May'; it must be a date such as 2026-01-31"),
        ({}, {"crawled_sources": "*", "user_sources": "a"}, "each source is of one kind"),
        ({}, {"crawled_sources": "a,b", "user_sources": "b"}, "each source is of one kind"),
        ({"input_file": "ledger*"}, {}, "holds entries of a ledger; a card describes documents"),
    ],
)
def test_mistakes(data, tmp_path, options, kinds, sentence):
    folder, _ = data
    name = options.pop("input_file", "store")
    with pytest.raises(ValueError, match=sentence.replace("*", r"\*")):
        write(folder / name, kinds, output_dir=str(tmp_path / "out"), **options)
    assert not (tmp_path / "out").exists()


def test_only_cards_are_replaced(data, tmp_path):
    folder, _ = data
    out = {"output_dir": str(tmp_path)}
    first = write(folder / "store", **out)
    with pytest.raises(FileExistsError, match="overwrite"):
        write(folder / "store", **out)
    assert write(folder / "store", **out, overwrite=True) == first
    for name in first:
        (tmp_path / name).write_text('{"name": "mine"}')
        with pytest.raises(ValueError, match=f"{name} is not a card that bert-data card wrote"):
            write(folder / "store", **out, overwrite=True)
        assert (tmp_path / name).read_text() == '{"name": "mine"}'
        (tmp_path / name).write_text(first[name])


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (10**9, "1B<n<10B"), (10**12, "n>1T")],
)
def test_sizes(number, name):
    assert size_category(number) == name


def test_licences_of_the_hub(data, tmp_path):
    folder, _ = data
    for given, expected in (
        ("https://a.org/terms", {"license": "other", "license_link": "https://a.org/terms"}),
        ("My Terms 1", {"license": "other", "license_name": "my-terms-1"}),
        ("Apache-2.0", {"license": "apache-2.0"}),
    ):
        cards = write(
            folder / "train.parquet", cards="huggingface", output_dir=str(tmp_path),
            license=given, overwrite=True,
        )  # fmt: skip
        head = yaml.safe_load(cards["README.md"].split("---\n")[1])
        assert expected.items() <= head.items()


def test_cards_of_a_bucket(object_store):
    folder = object_store.uri("d")
    write_bytes(f"{folder}/in.jsonl", b'{"text": "One.", "url": "https://a.org/1"}\n')
    config = CardConfig(input_file=f"{folder}/in.jsonl")
    rest = SourceKinds(), TextConfig(keep_fields=True), ProvenanceConfig()
    write_cards(config, *rest)
    described = json.loads(read_bytes(f"{folder}/croissant.json"))
    assert described["distribution"][0]["includes"] == ["in.jsonl"]
    assert b"| a.org | 1 | 4 | 100.0% |" in read_bytes(f"{folder}/training_content.md")
    with pytest.raises(FileExistsError):
        write_cards(config, *rest)
