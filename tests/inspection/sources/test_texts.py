"""Documents of text: their fields and lines, by number and by a word."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bert_data.curation.document import Measured
from bert_data.curation.running.ledger import LedgerWriter
from bert_data.curation.running.output_files import FILE, Noted, join_ledgers
from bert_data.errors import CorruptDataError
from bert_data.work.tasks import TASK
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


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    with LedgerWriter(tmp_path / TASK, "crawl") as writer:
        measures = (Measured("min_words", 7, 50, failed=True), Measured("max_words", 7, 1e5))
        writer.add("crawl/a:1", "gopher_quality", measures, 40, kept=False)
        writer.add("crawl/a:2", "language", (Measured("languages", "de", "en"),), 9, kept=True)
        writer.add("crawl/a:2", "gopher_quality", measures, 9, kept=False)
    path = tmp_path / "ledger.a.parquet"
    assert join_ledgers([Noted(str(tmp_path), 0, 0, 5)], str(tmp_path)) == {"num_rows": 5}
    return (tmp_path / FILE).rename(path)


def test_entries(ledger: Path) -> None:
    assert look(ledger, num_records=2) == "\n" + page("""
        entry 0  ledger.a.parquet:0
          document   crawl/a:1
          outcome    rejected by gopher_quality, 40 bytes
          min_words  7, threshold 50  rejects it
          max_words  7, threshold 100000

        entry 1  ledger.a.parquet:1
          document   crawl/a:2
          outcome    kept by language, 9 bytes
          languages  de, threshold en
        """)
    assert open_path(ledger).count() == 3


def test_by_a_step_or_a_document(ledger: Path) -> None:
    assert look(ledger, word="gopher_quality").count("\nentry ") == 2
    assert look(ledger, word="crawl/a:2").count("\nentry ") == 2


def test_entries_of_several_files(ledger: Path) -> None:
    for number in range(2):
        path = ledger.with_name(f"ledger.a-0000{number}-of-00002.parquet")
        path.write_bytes(ledger.read_bytes())
    source = open_path(f"{ledger}@2")
    assert [(Path(item.path).name, item.place) for item in source.stream()] == [
        (f"ledger.a-0000{number}-of-00002.parquet", place)
        for number in range(2)
        for place in range(3)
    ]


def test_rows(ledger: Path) -> None:
    source = open_path(ledger)
    row = source.row(next(iter(source.stream())), None)
    assert row["min_words"] == {"value": 7.0, "threshold": 50.0, "failed": True}
    assert row["outcome"] == "rejected"


def test_damaged_ledgers(ledger: Path) -> None:
    data = bytearray(ledger.read_bytes())
    data[20:60] = bytes(40)
    ledger.write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"ledger.a.parquet: "):
        look(ledger)
