"""Which items are shown: by number, at random, by a word."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.inspection.configs import Choice, parse_numbers
from bert_data.inspection.showing import choose, plural
from bert_data.inspection.words import load_words
from tests.inspection.looking import instance, look, open_path, write_vocabulary
from tests.reader.making import write_shard


@pytest.fixture
def shard(tmp_path: Path) -> Path:
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


def test_by_number(shard: Path) -> None:
    assert chosen(shard, record="5,3-4") == [3, 4, 5]
    assert chosen(shard) == [0, 1, 2, 3, 4]
    assert chosen(shard, num_records=100) == list(range(24))


def test_a_number_that_is_not_there(shard: Path) -> None:
    with pytest.raises(ValueError, match="there is no record 24: records are numbered from 0"):
        chosen(shard, record="3,24-30")


def test_at_random_by_the_seed(shard: Path) -> None:
    drawn = chosen(shard, seed=1, num_records=4)
    assert drawn == chosen(shard, seed=1, num_records=4) == sorted(drawn)
    assert len(set(drawn)) == 4
    assert drawn != chosen(shard, seed=2, num_records=4)
    assert chosen(shard, seed=1, num_records=100) == list(range(24))


def test_by_a_word_as_it_was_before_masking(shard: Path) -> None:
    assert chosen(shard, word="Cat") == [0, 1, 23]
    assert chosen(shard, word="cat", num_records=1) == [0]
    assert chosen(shard, word="unable") == [23]
    assert chosen(shard, word="sat") == []


def test_the_word_is_highlighted(shard: Path) -> None:
    words = load_words(str(write_vocabulary(shard.parent)))
    source = open_path(shard)
    chosen = list(choose(source, Choice(word="cat"), words))
    assert [marked for _, marked in chosen] == [
        {"input_ids": {2}}, {"input_ids": {2}}, {"input_ids": {5}}
    ]  # fmt: skip
    assert "[CLS] the cat [SEP]" in look(shard, write_vocabulary(shard.parent), word="cat")


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
        ({"num_records": 0}, "num_records is 0; 1 to 1,000,000 is allowed"),
        ({"num_records": 2**62}, "; 1 to 1,000,000 is allowed"),
        ({"word": " "}, "word is empty"),
        ({"word": "a", "seed": 1}, "`seed` and `word` are set"),
        ({"record": "1", "seed": 1}, "`record` and `seed` are set"),
    ],
)
def test_contradictions(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choice(**options)


def test_plurals() -> None:
    assert [plural(unit) for unit in ("record", "entry")] == ["records", "entries"]
