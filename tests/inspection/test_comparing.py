"""Comparisons: equal sets in any form, planted differences, orders, vocabularies."""

import collections
import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.formats.tfrecord import INDEX_DTYPE, index_path
from bert_data.inspection.comparing import (
    Comparison,
    as_json,
    compare,
    compare_vocabularies,
    count_common,
    different_settings,
    say_difference,
    show_comparison,
)
from bert_data.inspection.page import open_page
from bert_data.inspection.readable_ids import TokenNames, load_words
from bert_data.inspection.sources.items import Description
from bert_data.inspection.terminal import Terminal
from tests.causal.stores import write_store
from tests.inspection.looking import instance, open_path, page, write_vocabulary
from tests.reader.making import (
    Instance,
    frame_offsets,
    make_instances,
    write_shard,
    write_shards,
)
from tests.reader.parquet_making import write_instances

NO_WORDS = load_words(None), load_words(None)
INSTANCES = make_instances(40)


def compared(one: Path | str, other: Path | str) -> Comparison:
    return compare(open_path(one), open_path(other), NO_WORDS)


def write(folder: Path, instances: list[Instance], name: str = "a", **options) -> Path:
    return write_shard(folder / name, instances, **options)


def test_layouts_and_formats_with_equal_content_are_equal(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, INSTANCES),
        write(tmp_path, INSTANCES, "b", layout="reference"),
        write(tmp_path, INSTANCES, "c", compression="GZIP"),
        write_instances(tmp_path / "d.parquet", INSTANCES),
    ]
    for other in paths:
        comparison = compared(paths[0], other)
        assert comparison.is_equal
        assert comparison.first is None
        assert (comparison.num_equal_in_order, comparison.num_equal) == (40, 40)
        assert comparison.counts == (40, 40)


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("tokens", (7,) * len(INSTANCES[17].tokens), "input_ids"),
        ("is_random", 1 - INSTANCES[17].is_random, "next_sentence_labels"),
        ("labels", (9,) * len(INSTANCES[17].labels), "masked_lm_ids"),
    ],
)
def test_a_planted_difference_is_found(
    tmp_path: Path, field: str, value: object, named: str
) -> None:
    changed = list(INSTANCES)
    changed[17] = dataclasses.replace(INSTANCES[17], **{field: value})
    comparison = compared(write(tmp_path, INSTANCES), write(tmp_path, changed, "b"))
    assert not comparison.is_equal
    assert (comparison.num_equal_in_order, comparison.num_equal) == (39, 39)
    assert comparison.first is not None
    one, other = comparison.first
    assert one is not None
    assert other is not None
    assert (one.number, other.number) == (17, 17)
    assert not np.array_equal(one.fields[named], other.fields[named])


def test_another_order_and_more_of_the_same(tmp_path: Path) -> None:
    one = write(tmp_path, INSTANCES[:10])
    other = write(tmp_path, [*reversed(INSTANCES[:10]), INSTANCES[0], INSTANCES[0]], "b")
    comparison = compared(one, other)
    assert (comparison.num_equal_in_order, comparison.num_equal) == (0, 10)
    assert comparison.counts == (10, 12)


def test_one_ends_before_the_other(tmp_path: Path) -> None:
    one, other = write(tmp_path, INSTANCES[:5]), write(tmp_path, INSTANCES[:7], "b")
    first = compared(one, other).first
    assert first is not None
    assert first[0] is None
    assert first[1] is not None
    assert first[1].number == 5
    text = shown(one, other)
    assert "The input has 5 records, the other 7.\n5 of 7 records are equal in order" in text
    assert "\nThe input ends before record 5\n" in text
    assert "\nThe other ends before record 5\n" in shown(other, one)


def test_distributions(tmp_path: Path) -> None:
    some = [instance("[CLS] the=cat [SEP]", is_random=1), instance("[CLS] [SEP]")]
    distributions = compared(write(tmp_path, some), write(tmp_path, some[:1], "b")).distributions
    assert distributions == {
        "tokens": ({3: 1, 2: 1}, {3: 1}),
        "predictions": ({1: 1, 0: 1}, {1: 1}),
        "label": ({"B is from elsewhere": 1, "B follows A": 1}, {"B is from elsewhere": 1}),
    }


@pytest.mark.parametrize(("num_shards", "is_dealt"), [(1, False), (3, True), (7, True)])
def test_records_are_compared_in_the_order_of_the_deal(
    tmp_path: Path, num_shards: int, is_dealt: bool
) -> None:
    for count in {1, num_shards}:
        (tmp_path / str(count)).mkdir()
        write_shards(tmp_path / str(count), count, INSTANCES)
        for path in (tmp_path / str(count)).iterdir():  # an index says how many records there are
            offsets = frame_offsets(path)
            index = np.zeros(len(offsets), INDEX_DTYPE)
            index["offset"] = offsets
            np.save(index_path(str(path)), index)
    comparison = compared(f"{tmp_path}/1/part-*", f"{tmp_path}/{num_shards}/part-*")
    assert (comparison.is_dealt, comparison.is_equal) == (is_dealt, True)


def test_empty_sets_are_equal(tmp_path: Path) -> None:
    paths = write(tmp_path, []), write(tmp_path, [], "b")
    assert compared(*paths).counts == (0, 0)
    assert "The two are equal\nNeither has a record.\n" in shown(*paths)


def test_stores(tmp_path: Path) -> None:
    one = write_store(tmp_path / "a", [[1, 2], [], [3]])
    other = write_store(tmp_path / "b", [[1, 2], [], [3]], dtype="<i4")
    assert compared(one, other).is_equal
    third = write_store(tmp_path / "c", [[1, 2], [3]])
    assert compared(one, third).num_equal == 2


def test_different_kinds_are_refused(tmp_path: Path) -> None:
    store = write_store(tmp_path / "a", [[1]])
    with pytest.raises(ValueError, match=r"token stores and .* masked LM records, which cannot"):
        compared(store, write(tmp_path, INSTANCES, "b"))


def test_damage_is_an_error(tmp_path: Path) -> None:
    one, other = write(tmp_path, INSTANCES), write(tmp_path, INSTANCES, "b")
    other.write_bytes(other.read_bytes()[:-3])
    with pytest.raises(CorruptDataError, match=r"/b: record 39, .* is cut off"):
        compared(one, other)


def test_settings_that_differ() -> None:
    one = Description(kind="k", unit="u", settings={"a": 1, "b": 2, "c": [3]})
    other = Description(kind="k", unit="u", settings={"a": 1, "b": 3, "c": [3], "d": 0})
    assert different_settings(one, other) == {"b": (2, 3), "d": (None, 0)}
    assert different_settings(one, Description(kind="k", unit="u")) == {}


def test_vocabularies() -> None:
    known = Description(kind="k", unit="u", vocab_sha256="x", vocab_size=3)
    unknown = Description(kind="k", unit="u")
    words, other = TokenNames("a", "x", ["p", "q"]), TokenNames("b", "y", ["p", "r", "s"])
    assert not compare_vocabularies((known, known), NO_WORDS).is_different
    assert not compare_vocabularies((known, unknown), NO_WORDS).is_different
    assert not compare_vocabularies((known, unknown), (words, words)).is_different
    assert compare_vocabularies((unknown, unknown), (words, words)).sha256 == (None, None)
    assert compare_vocabularies((known, unknown), (words, other)).is_different
    assert compare_vocabularies((unknown, unknown), (words, other)).tokens == [
        (1, "q", "r"),
        (2, None, "s"),
    ]


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_common_values_are_counted_as_multisets(one: list[int], other: list[int]) -> None:
    expected = (collections.Counter(one) & collections.Counter(other)).total()
    assert count_common(np.array(one, np.uint64), np.array(other, np.uint64)) == expected


ONE = [instance("[CLS] the [MASK]=cat [SEP]"), instance("[CLS] dog ran [SEP]", is_random=1)]
OTHER = [ONE[0], instance("[CLS] dog sat [SEP]")]


def shown(one: Path, other: Path, vocabulary: Path | None = None) -> str:
    sources = open_path(one), open_path(other)
    words = (load_words(str(vocabulary) if vocabulary else None),) * 2
    file = io.StringIO()
    show_comparison(Terminal(file), sources, compare(*sources, words), words, 100)
    return file.getvalue()


def test_the_first_difference_in_words(tmp_path: Path) -> None:
    one, other = write_shard(tmp_path / "a", ONE), write_shard(tmp_path / "b", OTHER)
    text = shown(one, other, write_vocabulary(tmp_path))
    assert text.partition("\nDistributions\n")[0] == page(f"""
        input  masked LM records of {one}
        other  masked LM records of {other}

        The two differ
        1 of 2 records are equal in order (50.0%), 1 in any order (50.0%).
        Nothing says whether the vocabulary is the same.
        Nothing says what made the input and the other.

        record 1 is the first that differs, in input_ids, next_sentence_labels
        field                 input    other
        input_ids             17 at 2  7
        next_sentence_labels  1        0

        input  {one}:1
          A              [CLS] dog ran [SEP]
          next sentence  B is from elsewhere
                         4 tokens, 0 to predict

        other  {other}:1
          A              [CLS] dog sat [SEP]
          next sentence  B follows A
                         4 tokens, 0 to predict
        """)  # fmt: skip
    assert text.partition("\nDistributions\n")[2].startswith(page("""
                             input  other
        tokens, mean          4.00   4.00
        tokens, least            4      4
        tokens, median           4      4
        tokens, most             4      4
        predictions, mean     0.50   0.50
        predictions, least       0      0
        predictions, median      0      0
        predictions, most        1      1

        label
                                 input       other
        B follows A          1 (50.0%)  2 (100.0%)
        B is from elsewhere  1 (50.0%)    0 (0.0%)
        """))  # fmt: skip


def test_equal_sets(tmp_path: Path) -> None:
    one, other = write_shard(tmp_path / "a", ONE), write_shard(tmp_path / "b", ONE)
    text = shown(one, other)
    assert "The two are equal\n2 of 2 records are equal in order (100.0%), 2 in any" in text
    assert "Nothing says whether the vocabulary is the same." in text
    assert "first that differs" not in text


def test_the_differing_place_is_highlighted_on_the_page(tmp_path: Path, words: TokenNames) -> None:
    one = write_shard(tmp_path / "a", ONE)

    def write_page(other: list[Instance]) -> str:
        sources = open_path(one), open_path(write_shard(tmp_path / "b", other))
        path = tmp_path / "a.html"
        with open_page(str(path), "t", overwrite=True) as output:
            comparison = compare(*sources, (words, words))
            show_comparison(output, sources, comparison, (words, words), 100)
        return path.read_text()

    text = write_page(OTHER)
    assert '<span class="differs" title="what differs from the other set">ran</span>' in text
    assert text.count("<svg") == 0
    assert write_page([ONE[0], instance("[CLS] dog=dog [SEP]")]).count("<svg") == 2


def test_json_for_programs(tmp_path: Path) -> None:
    one, other = write_shard(tmp_path / "a", ONE), write_shard(tmp_path / "b", OTHER)
    sources, words = (open_path(one), open_path(other)), (load_words(None),) * 2
    data = json.loads(json.dumps(as_json(sources, compare(*sources, words), words)))
    assert data["equal"] is False
    assert data["counts"] == [2, 2]
    assert (data["equal_in_order"], data["equal_in_any_order"]) == (1, 1)
    assert data["first_difference"]["number"] == 1
    assert data["first_difference"]["fields"] == ["input_ids", "next_sentence_labels"]
    assert data["first_difference"]["input"]["input_ids"] == [2, 16, 17, 3]
    assert data["distributions"]["tokens"] == [[[4, 2]], [[4, 2]]]


def test_how_values_differ() -> None:
    assert say_difference(np.array([1, 2, 3]), np.array([1, 5, 6])) == (
        "2 at 1",
        "5 (2 places differ)",
    )
    assert say_difference(np.array([1]), np.array([1, 2])) == ("1 values", "2 values")
    assert say_difference(None, "x") == ("(none)", "x")
