"""What is shown of a comparison, as text, page and JSON."""

import io
import json
from pathlib import Path

import numpy as np

from bert_data.inspection.comparing import (
    as_json,
    compare,
    say_difference,
    show_comparison,
)
from bert_data.inspection.page import open_page
from bert_data.inspection.terminal import Terminal
from bert_data.inspection.words import load_words
from tests.inspection.looking import instance, open_path, page, write_vocabulary
from tests.reader.making import write_shard

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


def test_empty_sets(tmp_path: Path) -> None:
    one, other = write_shard(tmp_path / "a", []), write_shard(tmp_path / "b", [])
    assert "The two are equal\nNeither has a record.\n" in shown(one, other)


def test_one_ends_before_the_other(tmp_path: Path) -> None:
    one, other = write_shard(tmp_path / "a", ONE), write_shard(tmp_path / "b", ONE[:1])
    text = shown(one, other)
    assert (
        "The input has 2 records, the other 1.\n1 of 2 records are equal in order (50.0%)" in text
    )
    assert "\nThe other ends before record 1\n" in text


def test_the_differing_place_is_highlighted_on_the_page(tmp_path: Path) -> None:
    one, other = write_shard(tmp_path / "a", ONE), write_shard(tmp_path / "b", OTHER)
    sources = open_path(one), open_path(other)
    words = (load_words(str(write_vocabulary(tmp_path))),) * 2
    with open_page(str(tmp_path / "a.html"), "t") as output:
        show_comparison(output, sources, compare(*sources, words), words, 100)
    text = (tmp_path / "a.html").read_text()
    assert '<span class="differs" title="what differs from the other set">ran</span>' in text
    assert text.count("<svg") == 0

    shorter = write_shard(tmp_path / "c", [ONE[0], instance("[CLS] dog=dog [SEP]")])
    sources = open_path(one), open_path(shorter)
    with open_page(str(tmp_path / "b.html"), "t") as output:
        show_comparison(output, sources, compare(*sources, words), words, 100)
    assert (tmp_path / "b.html").read_text().count("<svg") == 2


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
