"""Sets are shown as a whole and item by item, and as rows for programs."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.inspection.configs import Choice, parse_numbers
from bert_data.inspection.readable_ids import load_words
from bert_data.inspection.showing import check_made_with, choose, rows_of
from tests.inspection.looking import header, instance, look, open_path, write_vocabulary
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


def test_rows_are_values_of_json(shard: Path) -> None:
    source, words = open_path(shard), load_words(None)
    (row,) = rows_of(source, choose(source, Choice(record="2"), words), words)
    assert json.loads(json.dumps(row)) == row
    assert (row["record"], row["file"], row["place"]) == (2, str(shard), 2)
    assert row["input_ids"] == [2, 5, 4, 3]


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    from tests.labelled.making import write_labelled

    vocabulary = tmp_path / "own.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ba"]) + "\n")
    source = open_path(write_labelled(tmp_path, vocabulary))
    check_made_with(source, load_words(str(vocabulary)))
    check_made_with(source, load_words(None))
    with pytest.raises(ValueError, match=f"^{tmp_path}/vocab.txt is not the vocabulary"):
        check_made_with(source, load_words(str(write_vocabulary(tmp_path))))
    assert "(the one of 6 tokens with sha256 " in header(source)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    instances = [
        instance("[CLS] the cat [SEP]"),
        instance("[CLS] the [MASK]=cat [SEP]"),
        instance("[CLS] cat=dog [SEP]"),
        *(instance("[CLS] home [SEP]") for _ in range(20)),
        instance("[CLS] the un ##believ=##able [SEP]", "cat [SEP]"),
    ]
    return write_shard(tmp_path / "part", instances)


def chosen(path: Path, **options) -> list[int]:
    words = load_words(str(write_vocabulary(path.parent)))
    return [item.number for item, _ in choose(open_path(path), Choice(**options), words)]


def test_by_number(records: Path) -> None:
    assert chosen(records, record="5,3-4") == [3, 4, 5]
    assert chosen(records) == [0, 1, 2, 3, 4]
    assert chosen(records, num_records=100) == list(range(24))


def test_a_number_that_is_not_there(records: Path) -> None:
    with pytest.raises(ValueError, match="there is no record 24: records are numbered from 0"):
        chosen(records, record="3,24-30")


def test_at_random_by_the_seed(records: Path) -> None:
    drawn = chosen(records, seed=1, num_records=4)
    assert drawn == chosen(records, seed=1, num_records=4) == sorted(drawn)
    assert len(set(drawn)) == 4
    assert drawn != chosen(records, seed=2, num_records=4)
    assert chosen(records, seed=1, num_records=100) == list(range(24))


def test_by_a_word_as_it_was_before_masking(records: Path) -> None:
    assert chosen(records, word="Cat") == [0, 1, 23]
    assert chosen(records, word="cat", num_records=1) == [0]
    assert chosen(records, word="unable") == [23]
    assert chosen(records, word="sat") == []


def test_the_word_is_highlighted(records: Path) -> None:
    words = load_words(str(write_vocabulary(records.parent)))
    source = open_path(records)
    chosen = list(choose(source, Choice(word="cat"), words))
    assert [marked for _, marked in chosen] == [
        {"input_ids": {2}}, {"input_ids": {2}}, {"input_ids": {5}}
    ]  # fmt: skip
    assert "[CLS] the cat [SEP]" in look(records, write_vocabulary(records.parent), word="cat")


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-2", "1,,2", "9" * 40, "0-1000000"])
def test_malformed_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r"^record is "):
        Choice(record=text)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), min_size=1))
def test_numbers_are_those_of_all_ranges(ranges: list[tuple[int, int]]) -> None:
    text = ",".join(f"{first}-{first + more}" for first, more in ranges)
    expected = {n for first, more in ranges for n in range(first, first + more + 1)}
    assert parse_numbers(text) == sorted(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"word": " "}, "word is empty"),
        ({"word": "a", "seed": 1}, "`seed` and `word` are set"),
        ({"record": "1", "seed": 1}, "`record` and `seed` are set"),
    ],
)
def test_contradictions(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choice(**options)
