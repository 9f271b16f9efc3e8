"""Entries of a ledger: outcome, and the rules with values and thresholds."""

from pathlib import Path

import pytest

from bert_data.curation.running.ledger import LedgerWriter
from bert_data.curation.running.output_files import FILE, join_ledgers
from bert_data.curation.verdict import Measured
from bert_data.errors import CorruptDataError
from tests.inspection.looking import look, open_path, page


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    part = tmp_path / "part"
    with LedgerWriter(part, "crawl") as writer:
        measures = (Measured("min_words", 7, 50, failed=True), Measured("max_words", 7, 1e5))
        writer.add("crawl/a:1", "gopher_quality", measures, 40, kept=False)
        writer.add("crawl/a:2", "language", (Measured("languages", "de", "en"),), 9, kept=True)
        writer.add("crawl/a:2", "gopher_quality", measures, 9, kept=False)
    path = tmp_path / "ledger.a.parquet"
    assert join_ledgers([str(part)], str(tmp_path)) == {"num_rows": 5}
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


def test_damage(ledger: Path) -> None:
    data = bytearray(ledger.read_bytes())
    data[20:60] = bytes(40)
    ledger.write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"ledger.a.parquet: "):
        look(ledger)
