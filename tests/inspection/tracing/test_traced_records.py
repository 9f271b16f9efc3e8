"""Records and the documents that they come from, against what the records hold."""

import gzip
import json

import numpy as np
import pytest

from bert_data.datasets.dataset_config import DatasetConfig
from bert_data.datasets.masked_lm import create_dataset
from bert_data.errors import CorruptDataError
from bert_data.inspection.configs import CheckConfig, TraceConfig
from bert_data.inspection.set_check import check_set
from bert_data.inspection.tracing.traced_records import trace_record, trace_to_records
from bert_data.objectives.making import InstanceConfig
from bert_data.text.documents import TextConfig
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.recipes.stores import write_vocabulary
from tests.recipes.test_recipe_records import read
from tests.rows import mostly_slow

COVERS = ("datasets/record_origins",)

NUM_DOCUMENTS = 120
INSTANCES = {"max_seq_length": 24, "max_predictions_per_seq": 3, "dupe_factor": 2}


@pytest.fixture
def words(tmp_path):
    """The words of each document; they are there as lines, as rows, and in two stores."""
    vocab = write_vocabulary(tmp_path, 600)
    draw = np.random.default_rng(5)
    documents = [
        [[f"w{3 * n}" for n in draw.integers(0, 190, size)] for size in draw.integers(1, 12, count)]
        for count in draw.integers(1, 9, NUM_DOCUMENTS)
    ]
    sentences = [[" ".join(sentence) for sentence in document] for document in documents]
    rows = [
        {"text": text, "id": f"d{n}", **({"license": "CC0"} if n % 2 else {})}
        for n, text in enumerate(sentences)
    ]
    rows.insert(7, {"text": [], "id": "empty"})
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.txt").write_text(
        "".join("\n" * (n % 3 + 1) + "\n".join(text) + "\n" for n, text in enumerate(sentences))
    )
    common = {"level": "sentence", "num_partitions": 2, "empty_documents": "curator"}
    make_stores(
        StoreConfig(
            input_file=f"{tmp_path}/t.jsonl", output_prefix=f"{tmp_path}/s", vocab_file=vocab,
            **common,
        )
    )  # fmt: skip
    return [[word for sentence in document for word in sentence] for document in documents]


def make(folder, name="t.jsonl", objective="nsp", **options):
    return create_dataset(
        DatasetConfig(
            **{
                "input_file": f"{folder}/{name}",
                "output_file": f"{folder}/x@4",
                "vocab_file": f"{folder}/vocab.txt",
                "instances": InstanceConfig(next_sentence=objective, **INSTANCES),
                "num_workers": 1,
                "num_examples": 0,
                **options,
            }
        )
    )


def segments_of(dataset) -> dict[tuple[int, str], tuple[range, list[str]]]:
    """The columns and the words of the segments of each record, without masks."""
    found = {}
    for number, batch in enumerate(read(dataset.paths, batch_size=1)):
        ids, slots = batch["input_ids"][0].copy(), batch["masked_lm_weights"][0] > 0
        ids[batch["masked_lm_positions"][0][slots]] = batch["masked_lm_ids"][0][slots]
        size = int(batch["input_mask"][0].sum())
        is_b = batch["segment_ids"][0][:size] == 1
        middle = size - int(is_b.sum())
        for name, columns in (("A", range(1, middle - 1)), ("B", range(middle, size - 1))):
            if columns:
                words = [dataset.vocabulary.tokens[n] for n in ids[columns.start : columns.stop]]
                found[number, name] = columns, words
    return found


@mostly_slow(
    ("name", "objective", "options"),
    [
        ("t.jsonl", "nsp", {}),
        ("t.txt", "sop", {"record_layout": "reference"}),
        ("s@2", "none", {"output_format": "parquet", "max_memory_mb": 480}),
        ("s@2", "nsp", {"num_partitions": 3}),
        ("t.jsonl", "nsp", {"num_partitions": 3}),
        ("t.txt", "nsp", {"num_partitions": 2, "compression": "gzip"}),
    ],
)
def test_all_records_of_all_documents(tmp_path, words, name, objective, options):
    dataset = make(tmp_path, name, objective, **options)
    own = f"{tmp_path}/x@4"
    segments = segments_of(dataset)
    held = {}
    if name == "t.txt":  # each is found by its first row, and by a later one
        text = (tmp_path / name).read_text().split("\n")
        firsts = [n for n, line in enumerate(text) if line and not text[n - 1]]
        for number, row in enumerate(firsts):
            (each,) = trace_to_records(
                TraceConfig(input_file=own, row=f"t.txt:{row + 1 + (row == 9)}")
            )
            held[number] = each
    else:
        (tmp_path / "ids").write_text("".join(f"d{n}\n" for n in range(NUM_DOCUMENTS)))
        for each in trace_to_records(TraceConfig(input_file=own, documents=f"{tmp_path}/ids")):
            assert each.origin.license == ("CC0" if int(each.origin.id[1:]) % 2 else None)
            held[int(each.origin.id[1:])] = each
    assert sorted(held) == list(range(NUM_DOCUMENTS))
    shown = {}
    for number, each in held.items():
        assert each.tokens[1] - each.tokens[0] == len(words[number])
        for record in each.records:
            first = record.tokens.start - each.tokens[0]
            own_words = words[number][first : first + len(record.tokens)]
            assert segments[record.record, record.segment] == (record.columns, own_words)
            shown[record.record, record.segment] = number
    assert shown.keys() == segments.keys()
    for record in range(0, max(shown)[0], 37):
        back = trace_record(TraceConfig(input_file=own, record=str(record)))
        assert [(each.segment, each.num_tokens) for each in back] == [
            (name, len(segments[record, name][0])) for name in "AB" if (record, name) in segments
        ]
        documents = [held[shown[record, each.segment]] for each in back]
        assert [(each.prefix, each.number, each.origin) for each in documents] == [
            (each.prefix, each.document, each.origin) for each in back
        ]
    assert not [
        each
        for each in check_set(CheckConfig(input_patterns=[own])).findings
        if each.name == "damage"
    ]


def contains(words, some) -> bool:
    return any(words[n : n + len(some)] == some for n in range(len(words)))


@pytest.mark.parametrize("name", ["t.jsonl", "s@2"])
def test_documents_by_some_of_their_text(tmp_path, words, name):
    held = [words for _, words in segments_of(make(tmp_path, name)).values()]
    config = {"input_file": f"{tmp_path}/x@4", "vocab_file": f"{tmp_path}/vocab.txt"}
    for some in (each[-3:] for each in words[::17]):
        segments = [segment for segment in held if contains(segment, some)]
        documents = {f"d{n}" for n, w in enumerate(words) for s in segments if contains(w, s)}
        found = trace_to_records(TraceConfig(text=" ".join(some), **config))
        assert {each.origin.id for each in found} == documents
        for each in found:
            assert trace_to_records(
                TraceConfig(input_file=config["input_file"], document=each.origin.id)
            ) == [each]
    with pytest.raises(ValueError, match=r"the text of .* has no such document"):
        trace_to_records(TraceConfig(text=" ".join(words[1][:2] + words[0][:2]), **config))
    (tmp_path / "vocab.txt").write_text((tmp_path / "vocab.txt").read_text() + "more\n")
    with pytest.raises(ValueError, match="was made with another vocabulary than"):
        trace_to_records(TraceConfig(text="w3", **config))


def test_ids_that_repeat_are_counted(tmp_path, words, caplog):
    lines = (tmp_path / "t.jsonl").read_text().splitlines(True)
    (tmp_path / "t.jsonl").write_text("".join([*lines, lines[3], lines[-1], lines[7]]))
    make(tmp_path)
    assert "t.jsonl: 2 documents have the id of an earlier one (`id_field`)" in caplog.text


def test_an_overwritten_set_leaves_nothing(tmp_path, words):
    make(tmp_path, num_partitions=3)
    beside = sorted(path.name for path in tmp_path.glob("origins.*"))
    assert [name for name in beside if name.endswith("documents")] == [
        f"origins.x-0000{n}-of-00004.documents" for n in range(3)
    ]
    make(tmp_path, overwrite=True, output_file=f"{tmp_path}/x@4", no_provenance=True)
    assert not [*tmp_path.glob("origins.*")]
    with pytest.raises(ValueError, match="does not say which documents its records come from"):
        trace_record(TraceConfig(input_file=f"{tmp_path}/x@4", record="0"))


def test_damage(tmp_path, words):
    dataset = make(tmp_path)
    records, listed = (
        tmp_path / f"origins.x-00000-of-00004.{kind}" for kind in ("records", "documents")
    )
    whole, lines = records.read_bytes(), gzip.decompress(listed.read_bytes()).splitlines(True)
    other = (tmp_path / "origins.x-00003-of-00004.records").read_bytes()
    for path, data, sentence in (
        (records, whole[:-5], "its header says"),
        (records, whole[:-90] + bytes([whole[-90] ^ 1]) + whole[-89:], "its CRC-32 is wrong"),
        (records, other, "describes other records"),
        (listed, listed.read_bytes()[:-9], "not a readable list of documents"),
        (listed, gzip.compress(b"".join(lines[:-9])), "lists fewer than the"),
        (listed, gzip.compress(b"{}\n"), "not a readable list of documents"),
    ):
        kept = path.read_bytes()
        path.write_bytes(data)
        report = check_set(CheckConfig(input_patterns=list(dataset.paths)))
        assert [each.sentence for each in report.findings if sentence in each.sentence], sentence
        path.write_bytes(kept)
    records.unlink()
    report = check_set(CheckConfig(input_patterns=list(dataset.paths)))
    assert any(f"{records}" in e.sentence and "missing" in e.sentence for e in report.findings)


def test_a_list_that_ends_early(tmp_path, words):
    make(tmp_path)
    path = tmp_path / "origins.x-00000-of-00004.documents"
    lines = gzip.decompress(path.read_bytes()).splitlines(True)
    path.write_bytes(gzip.compress(lines[0]))
    with pytest.raises(CorruptDataError, match="lists fewer tokens than the records have"):
        for record in range(5):
            trace_record(TraceConfig(input_file=f"{tmp_path}/x@4", record=str(record)))


def test_stores_that_moved_or_changed(tmp_path, words):
    make(tmp_path, "s@2", text=TextConfig())
    folder = tmp_path / "moved"
    folder.mkdir()
    for path in [*tmp_path.glob("*x-*"), *tmp_path.glob("manifest.x*"), *tmp_path.glob("s-*")]:
        path.rename(folder / path.name)
    config = TraceConfig(input_file=f"{folder}/x@4", document="d5")
    assert trace_to_records(config)[0].prefix.startswith(str(folder))
    for path in folder.glob("s-00000*"):
        (folder / path.name.replace("s-00000", "s-00001")).write_bytes(path.read_bytes())
    with pytest.raises(CorruptDataError, match="of another store than that of"):
        trace_to_records(config)
    (folder / "s-00001-of-00002.idx").unlink()
    with pytest.raises(ValueError, match="is not there, nor is it beside"):
        trace_to_records(config)
