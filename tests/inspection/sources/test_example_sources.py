"""Any tf.train.Example is read as TensorFlow reads it, and damage is an error."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.inspection.configs import Choice
from bert_data.inspection.readable_ids import load_words
from bert_data.inspection.showing import choose, rows_of
from bert_data.inspection.sources.example_sources import read_features
from bert_data.records.formats.examples import encode_example
from tests.inspection.looking import look, open_path, page
from tests.labelled.making import NUM_RECORDS, texts, write_labelled
from tests.reader.making import write_examples

INT64 = st.integers(-(2**63), 2**63 - 1)
FEATURES = st.dictionaries(
    st.text(max_size=8),
    st.one_of(
        st.lists(INT64, max_size=5).map(lambda v: np.array(v, np.int64)),
        st.lists(st.floats(width=32, allow_nan=False), max_size=5).map(
            lambda v: np.array(v, np.float32)
        ),
        st.lists(st.binary(max_size=9), max_size=3),
    ),
    max_size=4,
)


@given(FEATURES)
def test_what_the_encoder_writes_is_read(features: dict) -> None:
    read = read_features(encode_example(features))
    assert list(read) == sorted(features)
    for name, values in features.items():
        assert list(read[name]) == list(values)


def test_numbers_that_are_not_packed() -> None:
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.extend([-1, 300])
    assert read_features(example.SerializeToString())["a"].tolist() == [-1, 300]
    unpacked = b"\x0a\x0e\x0a\x0c\x0a\x01a\x12\x07\x1a\x05\x08\x07\x08\xac\x02"
    assert tf.train.Example.FromString(unpacked).features.feature["a"].int64_list.value == [7, 300]
    assert read_features(unpacked)["a"].tolist() == [7, 300]


@given(st.binary(max_size=60))
def test_any_bytes_give_features_or_an_error(data: bytes) -> None:
    try:
        read_features(data)
    except ValueError as error:
        assert str(error).startswith("a record is not a tf.train.Example (")


def test_records_of_other_programs(tmp_path: Path) -> None:
    features = {
        "b": [b"so, so"],
        "c": [b"x", b"y\n"],
        "image": [b"\xff" * 9000],
        "a": np.arange(30),
        "w": np.array([0.5], np.float32),
    }
    path = write_examples(tmp_path / "part", [encode_example(features)])
    numbers, escaped = " ".join(map(str, range(24))), "\\xff" * 1500
    assert look(path) == "\n" + page(f"""
        record 0  part:0
          a      {numbers} ... 30 values
          b      so, so
          c      ["x", "y\\n"]
          image  {escaped} ... 30,000 more characters
          w      0.5
        """)
    source = open_path(path)
    (item,) = source.stream()
    assert source.description.kind == "tf.train.Examples"
    assert source.row(item, None)["w"] == [0.5]


def test_records_that_are_no_examples(tmp_path: Path) -> None:
    path = write_examples(tmp_path / "part", [b"\xff\xff\xff"])
    with pytest.raises(CorruptDataError, match=r"part: record 0, .*not a tf.train.Example"):
        open_path(path)


def test_json_has_no_infinite_numbers(tmp_path: Path) -> None:
    features = {"w": np.array([0.5, np.inf, np.nan], np.float32)}
    source = open_path(write_examples(tmp_path / "part", [encode_example(features)]))
    words = load_words(None)
    (row,) = rows_of(source, choose(source, Choice(), words), words)
    assert row["w"] == [0.5, None, None]


def test_label_text_and_tokens(tmp_path: Path, small_vocabulary: Path) -> None:
    pattern = write_labelled(tmp_path, small_vocabulary)
    source = open_path(pattern)
    assert source.count() == NUM_RECORDS
    # record 1 of the texts is the first of the second shard
    number = -(-NUM_RECORDS // 3)
    shown = look(pattern, small_vocabulary, record=str(number))
    lines = [line.strip() for line in shown.strip().splitlines()]
    assert lines == [
        f"record {number}  t-00001-of-00003:0",
        "label        1 (class 1)",
        f"text         {texts()[1]}",
        f"text tokens  {texts()[1]}",
    ]


def test_pairs(tmp_path: Path, small_vocabulary: Path) -> None:
    source = open_path(write_labelled(tmp_path, small_vocabulary, pairs=True))
    words = load_words(str(small_vocabulary))
    row = source.row(next(iter(source.stream())), words)
    assert row["text_b"] == "no ba"
    assert row["text_b_tokens"] == ["no", "ba"]
    assert row["label"] == 0
    assert {"text_tokens_splits_0", "text_b_tokens_splits_1"} <= row.keys()


def test_features_of_other_names(tmp_path: Path, small_vocabulary: Path) -> None:
    names = {"text_features": ("summary",), "label_feature": "genre"}
    shown = look(write_labelled(tmp_path, small_vocabulary, **names), small_vocabulary, record="8")
    assert "label           1 (class 1)\n" in shown
    assert f"summary         {texts()[1]}\n" in shown
    assert f"summary tokens  {texts()[1]}\n" in shown


def test_without_a_manifest(tmp_path: Path, small_vocabulary: Path) -> None:
    pattern = write_labelled(tmp_path, small_vocabulary)
    for path in tmp_path.glob("manifest.*"):
        path.unlink()
    assert "label        1\n" in look(pattern, small_vocabulary, record="8")


def test_by_a_word(tmp_path: Path, small_vocabulary: Path) -> None:
    pattern = write_labelled(tmp_path, small_vocabulary)
    word = texts()[1].split()[0]
    shown = look(pattern, small_vocabulary, word=word, num_records=99)
    expected = sum(word in text.split() for text in texts())
    assert shown.count("\nrecord ") == expected > 0
