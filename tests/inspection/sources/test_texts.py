"""Documents of text: their fields and lines, by number and by a word."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bert_data.errors import CorruptDataError
from tests.inspection.looking import look, open_path, page

ROWS = b"""{"id": "a:1", "text": "The cat sat.\\nIt was warm.", "n": [1, 2]}
{"id": "a:2", "text": "Concatenate!", "n": null}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(ROWS))
    return path


def test_fields_and_lines(path: Path) -> None:
    assert look(path) == "\n" + page("""
        document 0  a.jsonl.gz:1
          id    a:1
          n     [1, 2]
          text  The cat sat.
                It was warm.

        document 1  a.jsonl.gz:2
          id    a:2
          n     null
          text  Concatenate!
        """)


def test_by_number_and_by_word(path: Path) -> None:
    source = open_path(path)
    assert source.count() == 2
    assert [item.number for item in source.read([1, 5])] == [1]
    assert look(path, word="CAT").count("\ndocument ") == 1
    assert look(path, word="nothing") == ""


def test_a_long_text_is_cut(path: Path) -> None:
    assert "... 13 more characters" in look(path, record="0", max_tokens=2)


def test_parquet_and_lines(tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "text": ["The cat."]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert "  text  The cat.\n" in look(tmp_path / "a.parquet")
    (tmp_path / "a.txt").write_text("One.\nTwo.\n\nThree.\n")
    assert look(tmp_path / "a.txt").count("\ndocument ") == 2


def test_damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(CorruptDataError, match=r"a.jsonl.gz: "):
        look(path)


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a\\u001b[31mb"}\n')
    assert r"a\x1b[31mb" in look(tmp_path / "a.jsonl")
