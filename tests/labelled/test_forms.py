"""Records of variable length as an article's program writes and reads them, and as ours does.

The article (Variable-Length Sequences in TensorFlow, part 2) tokenizes one text at a time to a
RaggedTensor [texts, words, pieces], stores its flat values and each of its row splits, and reads
them with `tf.io.parse_single_example`. `write` and `read` do that with TensorFlow alone.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from bert_data.errors import CorruptDataError
from bert_data.labelled.batches import LabelledReaderConfig, LabelledSource, read_labelled_batches
from bert_data.labelled.forms import form_of_manifest
from bert_data.reader.planning import PlanConfig
from bert_data.records.sets.manifest import read_manifest
from tests.labelled.making import texts, write_labelled

NAMES: dict[str, Any] = {"text_features": ("summary",), "label_feature": "label"}


def ints(values: Any) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def features_of(text: str, label: int, tokens: tf.RaggedTensor) -> dict[str, tf.train.Feature]:
    """What the article stores of a text."""
    features = {
        "summary": tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()])),
        "summary_tokens_len": ints([tokens.flat_values.shape[0]]),
        "label": ints([label]),
        "summary_tokens_values": ints(tokens.flat_values.numpy()),
    }
    for dimension, splits in enumerate(tokens.nested_row_splits):
        features[f"summary_tokens_splits_{dimension}"] = ints(splits.numpy())
    return features


def write_records(path: Path, rows: Sequence[dict[str, tf.train.Feature]]) -> None:
    with tf.io.TFRecordWriter(str(path)) as writer:
        for features in rows:
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def rows_of(vocabulary: Path) -> list[dict[str, tf.train.Feature]]:
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            str(vocabulary),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        num_oov_buckets=1,
    )
    tokenizer = tf_text.BertTokenizer(table, token_out_type=tf.int64, lower_case=True)
    return [
        features_of(text, number % 3, tokenizer.tokenize([text]))
        for number, text in enumerate(texts())
    ]


def read_tokens(pattern: str) -> list[tuple[bytes, int, list]]:
    """Text, label and tokens of each record, read by the article's feature description."""
    description = {
        "summary": tf.io.FixedLenFeature([], tf.string),
        "summary_tokens": tf.io.RaggedFeature(
            dtype=tf.int64,
            value_key="summary_tokens_values",
            partitions=[
                tf.io.RaggedFeature.RowSplits("summary_tokens_splits_0"),
                tf.io.RaggedFeature.RowSplits("summary_tokens_splits_1"),
            ],
        ),
        "summary_tokens_len": tf.io.FixedLenFeature([1], tf.int64),
        "label": tf.io.FixedLenFeature([1], tf.int64),
    }

    def read_example(record: tf.Tensor) -> dict[str, Any]:
        features = tf.io.parse_single_example(record, description)
        tokens = features["summary_tokens"].with_row_splits_dtype(tf.int64)
        features["summary_tokens"] = tf.cast(tokens, tf.int32)
        return features

    rows = []
    files = sorted(tf.io.gfile.glob(pattern))
    for batch in tf.data.TFRecordDataset(files).map(read_example).batch(4):
        tokens = tf.squeeze(batch["summary_tokens"], axis=1)  # there is one text in each record
        lengths = tokens.merge_dims(1, 2).row_lengths().numpy().tolist()
        assert lengths == batch["summary_tokens_len"][:, 0].numpy().tolist()
        labels = batch["label"][:, 0].numpy().tolist()
        rows += list(zip(batch["summary"].numpy().tolist(), labels, tokens.to_list(), strict=True))
    return rows


@pytest.fixture(scope="module")
def article(tmp_path_factory: pytest.TempPathFactory, small_vocabulary: Path) -> Path:
    """The file of the article's program, beside which there is no index and no manifest."""
    path = tmp_path_factory.mktemp("article") / "train-0.tfrecord"
    write_records(path, rows_of(small_vocabulary))
    return path


def config(pattern: object, vocabulary: Path | None, **options: Any) -> LabelledReaderConfig:
    plan = PlanConfig(batch_size=4, **options.pop("plan", {}))
    vocab_file = None if vocabulary is None else str(vocabulary)
    return LabelledReaderConfig(
        input_patterns=str(pattern), vocab_file=vocab_file, plan=plan, **{**NAMES, **options}
    )


def test_the_article_reads_our_records(
    tmp_path: Path, article: Path, small_vocabulary: Path
) -> None:
    pattern = write_labelled(tmp_path, small_vocabulary, **NAMES)
    assert sorted(read_tokens(pattern)) == sorted(read_tokens(str(article)))


def test_our_reader_reads_the_articles_records(article: Path, small_vocabulary: Path) -> None:
    source = LabelledSource(config(article, small_vocabulary, form="ragged"))
    assert (source.num_labels, source.form.ragged_rank, source.labels) == (3, 2, {0, 1, 2})
    assert source.records.num_tokens.tolist() == [
        sum(map(len, words)) for _, _, words in read_tokens(str(article))
    ]
    rows: list[tuple[bytes, int, list]] = []
    for batch in read_labelled_batches(source):
        tokens = tf.squeeze(batch["summary_tokens"], axis=1).to_list()
        texts_and_labels = batch["summary"].numpy().tolist(), batch["label"].numpy().tolist()
        rows += list(zip(*texts_and_labels, tokens, strict=True))
    assert rows == read_tokens(str(article))


def test_batches_are_as_wide_as_their_longest_text(article: Path, small_vocabulary: Path) -> None:
    """The article's packed inputs: [CLS] tokens [SEP], to the longest of a batch."""
    plan = {"batching": "pools", "shuffle": True, "max_seq_length": 16}
    cls, sep = (small_vocabulary.read_text().split().index(t) for t in ("[CLS]", "[SEP]"))
    expected = sorted(
        ([cls, *[piece for word in words for piece in word][:14], sep], label)
        for _, label, words in read_tokens(str(article))
    )
    rows = []
    for inputs, labels, _ in read_labelled_batches(config(article, small_vocabulary, plan=plan)):
        mask = inputs["input_mask"].numpy()
        assert mask.sum(axis=1).max() == mask.shape[1]
        ids = [
            row[row_mask == 1].tolist()
            for row, row_mask in zip(inputs["input_ids"].numpy(), mask, strict=True)
        ]
        rows += list(zip(ids, labels.numpy().tolist(), strict=True))
    assert sorted(rows) == expected


def test_records_of_rank_one(tmp_path: Path, small_vocabulary: Path) -> None:
    """As version 0.1 wrote them: [words, pieces]."""
    words = tf.ragged.constant([[5, 6], [7]], tf.int64)
    write_records(tmp_path / "a", [features_of("x", 1, words)])
    source = LabelledSource(config(tmp_path / "a", small_vocabulary, form="ragged"))
    (batch,) = read_labelled_batches(source)
    assert batch["summary_tokens"].to_list() == [[[5, 6], [7]]]


def test_sets_of_earlier_versions(tmp_path: Path, small_vocabulary: Path) -> None:
    write_labelled(tmp_path, small_vocabulary)
    manifest = read_manifest(f"{tmp_path}/manifest.t.json")
    form = form_of_manifest(manifest)
    flags = {name: manifest.flags[name] for name in manifest.flags if "features" not in name}
    before = form_of_manifest(dataclasses.replace(manifest, flags=flags))
    assert before == dataclasses.replace(form, ragged_rank=1)
    nested = dataclasses.replace(manifest, flags={**flags, "sentences": "lines"})
    assert form_of_manifest(nested) == form


def test_mistakes(article: Path, small_vocabulary: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"train-0\.tfrecord has no manifest; .* `vocab_file`"):
        LabelledSource(config(article, None))
    has = r"\(its features: label, summary, summary_tokens_len, summary_tokens_splits_0, "
    with pytest.raises(ValueError, match=f"record no feature 'text_tokens_values'; .*{has}"):
        LabelledSource(config(article, small_vocabulary, text_features=()))
    with pytest.raises(ValueError, match=r"record no feature 'genre'; .*: label, "):
        LabelledSource(config(article, small_vocabulary, label_feature="genre"))
    pattern = write_labelled(tmp_path, small_vocabulary, **NAMES)
    with pytest.raises(ValueError, match=r"label_feature is 'y'; the manifest of .* says 'label'"):
        LabelledSource(config(pattern, None, label_feature="y"))
    (tmp_path / "none").touch()
    with pytest.raises(ValueError, match=r"no records in .*none"):
        LabelledSource(config(tmp_path / "none", small_vocabulary))


TOKENS = tf.ragged.constant([[[5, 6], [7]]], tf.int64)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"label": None}, "a record has no feature 'label'"),
        ({"label": ints([1, 2])}, "a record has several values of 'label'"),
        ({"label": tf.train.Feature(bytes_list={"value": [b"drama"]})}, "Data types don't match"),
        ({"summary_tokens_splits_0": None}, "has no feature 'summary_tokens_splits_0'"),
        ({"summary_tokens_splits_1": None}, "row splits and values of a record do not fit"),
        ({"summary_tokens_splits_1": ints([0, 2])}, "row splits and values of a record"),
        ({"summary_tokens_values": ints([5, 6, 10**6])}, r"the id 1000000 .* are below \d+"),
        ({"summary_tokens_values": ints([5, 6, -1])}, "has the id -1 in 'summary_tokens_values'"),
    ],
)
def test_a_record_that_does_not_fit_is_named(
    tmp_path: Path, small_vocabulary: Path, change: dict, reason: str
) -> None:
    good = features_of("x", 1, TOKENS)
    bad = {name: value for name, value in {**good, **change}.items() if value is not None}
    write_records(tmp_path / "a", [good, good, bad])
    with pytest.raises(CorruptDataError, match=rf"a: record 2, byte offset \d+: .*{reason}"):
        LabelledSource(config(tmp_path / "a", small_vocabulary))
    data = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(data[:-3])
    with pytest.raises(CorruptDataError):
        LabelledSource(config(tmp_path / "a", small_vocabulary))
