"""What is shown of a whole set, of its items, and the rows for programs."""

import json
from pathlib import Path

import pytest

from bert_data.inspection.configs import Choice
from bert_data.inspection.page import open_page
from bert_data.inspection.showing import check_vocabulary, choose, describe, rows_of, show_items
from bert_data.inspection.words import load_words
from tests.inspection.looking import header, instance, open_path, write_vocabulary
from tests.reader.making import write_shard


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return write_shard(tmp_path / "part", [instance("[CLS] the [MASK]=cat [SEP]")] * 3)


def test_the_header_says_how_to_read_what_follows(shard: Path) -> None:
    vocabulary = write_vocabulary(shard.parent)
    assert header(open_path(shard), vocabulary) == (
        f"masked LM records of {shard}\n"
        "[MASK](cat) was masked, run(cat) was replaced, cat(cat) was left as it is; all are to be"
        " predicted\n"
    )


def test_a_page_has_the_same_text(shard: Path) -> None:
    words = load_words(str(write_vocabulary(shard.parent)))
    source = open_path(shard)
    path = shard.parent / "a.html"
    with open_page(str(path), "t") as page:
        describe(page, source, words)
        show_items(page, source, choose(source, Choice(), words), words, 100)
    text = path.read_text()
    assert text.count('<span class="masked" title="position 2: masked, was cat">[MASK]</span>') == 3
    assert text.count("<h2>record ") == 3


def test_rows_are_values_of_json(shard: Path) -> None:
    source, words = open_path(shard), load_words(None)
    (row,) = rows_of(source, choose(source, Choice(record="2"), words), words)
    assert json.loads(json.dumps(row)) == row
    assert (row["record"], row["file"], row["place"]) == (2, str(shard), 2)
    assert row["input_ids"] == [2, 5, 4, 3]


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    from tests.reader.labelled_making import write_labelled

    vocabulary = tmp_path / "own.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ba"]) + "\n")
    source = open_path(write_labelled(tmp_path, vocabulary))
    check_vocabulary(source, load_words(str(vocabulary)))
    check_vocabulary(source, load_words(None))
    with pytest.raises(ValueError, match=r"`vocab_file=.*vocab.txt` is not the vocabulary"):
        check_vocabulary(source, load_words(str(write_vocabulary(tmp_path))))
    assert "(the one of 6 tokens with sha256 " in header(source)
