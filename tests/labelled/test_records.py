"""Shards of labelled texts: their records by an independent reader, whatever cuts the work."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.kernels.crc32c import crc32c
from bert_data.labelled import records as module
from bert_data.labelled.label_config import LabelConfig, LabelledDatasetConfig, LabelledTextConfig
from bert_data.labelled.records import create_labelled_dataset
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.sets.manifest import read_manifest
from tests.program_folder import contents
from tests.records.formats.tfrecords import split_records
from tests.tokens.json_files import byte_pairs, wordpiece
from tokenization import BasicTokenizer, FullTokenizer


@pytest.fixture(scope="module")
def documents(small_text: Path) -> list[list[str]]:
    """Documents of sentences; one is empty."""
    texts = [document.splitlines() for document in small_text.read_text().split("\n\n")]
    return [*texts[:7], [], *texts[7:12]]


@pytest.fixture
def make(documents, small_vocabulary: Path, tmp_path: Path):
    """Makes a set of the documents, as lines of one field; returns its folder."""
    path = tmp_path / "in.csv"
    with path.open("w", newline="") as file:
        rows = [("text", "label"), *(("\n".join(d), "ab"[len(d) % 2]) for d in documents)]
        csv.writer(file).writerows(rows)

    def run(folder: str, output: str = "t@3", *, input_file: Path = path, **options) -> Path:
        config = LabelledDatasetConfig(
            input_file=str(input_file),
            output_file=str(tmp_path / folder / output),
            **{"vocab_file": str(small_vocabulary), "num_workers": 1, **options},
        )
        create_labelled_dataset(config)
        return tmp_path / folder

    return run


def read(folder: Path, name: str) -> list[dict[str, list]]:
    """The features of a shard's records; its index is compared."""
    data = (folder / name).read_bytes()
    records = split_records(data)
    index = np.load(index_path(str(folder / name)))
    assert index["offset"].tolist() == [*(at for at, _ in records), len(data)]
    records_read = []
    for (_, record), num_tokens in zip(records, index["num_tokens"][:-1], strict=True):
        example = tf.train.Example.FromString(record)
        features = {
            key: list(getattr(feature, feature.WhichOneof("kind")).value)
            for key, feature in example.features.feature.items()
        }
        lengths = [values[0] for key, values in features.items() if key.endswith("_tokens_len")]
        assert sum(lengths) == num_tokens
        records_read.append(features)
    return records_read


def expected(sentences: list[str], vocabulary: Path) -> tuple[list[int], list[int], list[int]]:
    """ids, splits of sentences into words, splits of words into pieces."""
    tokenizer, basic = FullTokenizer(str(vocabulary)), BasicTokenizer()
    ids: list[int] = []
    word_splits, sentence_splits = [0], [0]
    for sentence in sentences:
        for word in basic.tokenize(sentence):
            ids += tokenizer.convert_tokens_to_ids(tokenizer.wordpiece_tokenizer.tokenize(word))
            word_splits.append(len(ids))
        sentence_splits.append(len(word_splits) - 1)
    return ids, sentence_splits, word_splits


@pytest.mark.parametrize("sentences", ["one", "lines"])
def test_records(make, documents, small_vocabulary: Path, sentences: str) -> None:
    names = {"text_features": ("story",), "label_feature": "y"} if sentences == "lines" else {}
    text, label = ("story", "y") if names else ("text", "label")
    folder = make("out", sentences=sentences, **names)
    shards = [read(folder, f"t-0000{i}-of-00003") for i in range(3)]
    for number, document in enumerate(documents):
        record = shards[number % 3][number // 3]
        ids, sentence_splits, word_splits = expected(document, small_vocabulary)
        if sentences == "one":
            sentence_splits = [0, len(word_splits) - 1]
        assert record == {
            text: ["\n".join(document).encode()],
            label: [len(document) % 2],
            f"{text}_tokens_len": [len(ids)],
            f"{text}_tokens_values": ids,
            f"{text}_tokens_splits_0": sentence_splits,
            f"{text}_tokens_splits_1": word_splits,
        }
    assert sum(map(len, shards)) == len(documents)


def test_manifest(make, documents, caplog: pytest.LogCaptureFixture) -> None:
    folder = make("out", sentences="lines")
    row = 2 + sum(map(len, documents[:7]))  # each sentence is a line of the file
    assert f"in.csv:{row}: the text has no token" in caplog.text
    manifest = read_manifest(str(folder / "manifest.t.json"))
    assert manifest.record_layout == "labelled"
    assert manifest.flags["classes"] == ["a", "b"]
    odd = sum(len(document) % 2 for document in documents)
    assert manifest.counts["labels"] == {"a": len(documents) - odd, "b": odd}
    text = manifest.counts["text"]
    assert text["num_texts"] == len(documents)
    assert text["num_sentences"] == sum(map(len, documents))
    assert text["num_without_tokens"] == 1
    records = [r for i in range(3) for r in read(folder, f"t-0000{i}-of-00003")]
    assert manifest.max_seq_length == max(r["text_tokens_len"][0] for r in records)
    assert text["num_tokens"] == sum(r["text_tokens_len"][0] for r in records)
    for file in manifest.files:
        data = (folder / file.name).read_bytes()
        assert (file.num_bytes, file.crc32c) == (len(data), crc32c(data))


def test_the_same_files_however_the_work_is_cut(make, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = contents(make("a"))
    monkeypatch.setattr(module, "CHUNK_TEXTS", 2)
    monkeypatch.setattr(module, "CHUNK_RECORDS", 2)
    assert contents(make("b", num_workers=3)) == whole
    monkeypatch.setattr(module, "CHUNK_CHARACTERS", 1)
    assert contents(make("c")) == whole


def test_lists_of_sentences_and_pairs(make, documents, small_vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    rows = [{"a": d, "b": f"no {n}", "y": n - 3} for n, d in enumerate(documents)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    texts = LabelledTextConfig(text_columns=("a", "b"), label_column="y")
    folder = make("out", "t", input_file=path, texts=texts, sentences="split")
    for number, record in enumerate(read(folder, "t")):
        ids, sentence_splits, _ = expected(documents[number], small_vocabulary)
        second = expected([f"no {number}"], small_vocabulary)
        assert record["label"] == [number - 3]
        assert record["text_tokens_values"] == ids
        assert record["text_tokens_splits_0"] == sentence_splits
        assert record["text_b"] == [f"no {number}".encode()]
        assert record["text_b_tokens_values"] == second[0]
        assert record["text_b_tokens_splits_0"] == second[1]
        assert record["text_b_tokens_splits_1"] == second[2]


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        ("text,label\n", {}, "no row in the texts of 1 file"),
        ("text,label\n,1\n", {}, "no token in the texts of 1 file"),
        ("text,label\nx,a\ny\n", {}, "bad.csv:3: 1 columns"),
        ("text,label\nx,a\ny,\n", {}, "bad.csv:3: the label is empty"),
        ("text,label\nx,a\ny,a\n", {}, "bad.csv:3: every label up to this last one is 'a'"),
        ("text,label\nx,1\n", {"text_features": ("a", "b")}, "text_features is ('a', 'b'); 1 must"),
        ("text,label\nx,1\n", {"text_features": ("label",)}, "each may appear only once"),
        (
            "text,label\nx,1\ny,b\n",
            {"labels": LabelConfig(label_kind="integer")},
            "bad.csv:3: the label",
        ),
        (
            "text,label\nx,1\n",
            {"texts": LabelledTextConfig(text_columns=("t",))},
            "bad.csv:1: 0 columns",
        ),
    ],
)
def test_mistakes_leave_nothing_behind(
    make, tmp_path: Path, content: str, options: dict, reason: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    before = contents(tmp_path)
    with pytest.raises(ValueError) as caught:
        make("out", input_file=path, **options)
    assert reason in str(caught.value)
    assert contents(tmp_path) == before


def test_a_tokenizer_file_in_place_of_the_vocabulary(make, tmp_path, small_vocabulary) -> None:
    expected = (make("a", "t") / "t").read_bytes()
    file = wordpiece(tmp_path / "t.json", small_vocabulary.read_text().split())
    with_file = make("b", "t", vocab_file=None, tokenizer_file=file)
    assert (with_file / "t").read_bytes() == expected
    file = byte_pairs(tmp_path / "b.json")
    with pytest.raises(ValueError, match=r"b\.json is not WordPiece with BERT's rules"):
        make("c", "t", vocab_file=None, tokenizer_file=file)


def test_an_input_is_not_replaced(make, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("in.csv")
    with pytest.raises(ValueError, match="is an input too"):
        make("", "link", overwrite=True)
    assert (tmp_path / "in.csv").exists()
    # which readers take for what is beside a set
    with pytest.raises(ValueError, match=r"index.t.npy' has the name of a set's index or manifest"):
        make("", "index.t.npy")
    for name, said in (("t.parquet", "parquet"), ("t.tfrecord.gz", "gzip"), ("in.csv", "csv")):
        with pytest.raises(ValueError, match=f"{name}' would not be {said}, .* says; choose an"):
            make("", name)
