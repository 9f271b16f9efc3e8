"""Records of labelled texts, single and pairs, flat and nested."""

from pathlib import Path

import pytest

from bert_data.inspection.words import load_words
from tests.inspection.looking import look, open_path
from tests.reader.labelled_making import NUM_RECORDS, texts, write_labelled


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


@pytest.mark.parametrize("sentences", ["one", "lines"])
def test_pairs(tmp_path: Path, small_vocabulary: Path, sentences: str) -> None:
    source = open_path(write_labelled(tmp_path, small_vocabulary, pairs=True, sentences=sentences))
    words = load_words(str(small_vocabulary))
    row = source.row(next(iter(source.stream())), words)
    assert row["text_b"] == "no ba"
    assert row["text_b_tokens"] == ["no", "ba"]
    assert row["label"] == 0
    assert ("text_tokens_splits_1" in row) == (sentences == "lines")


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
