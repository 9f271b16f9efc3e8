"""The report of a check in a terminal."""

import io
from pathlib import Path

import pytest

from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.reports import show_check
from bert_data.inspection.set_check import check_set
from bert_data.inspection.terminal import Terminal
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from tests.inspection.making import make_records, write_set


def test_a_report(tmp_path: Path) -> None:
    text = {"num_documents": 1, "num_unknown": 600, "num_tokens": 9000}
    pattern = write_set(tmp_path, make_records(200, 0), counts={"text": text})
    report = check_set(CheckConfig(input_patterns=pattern))
    shown = io.StringIO()
    show_check(Terminal(shown), report)
    lines = shown.getvalue().splitlines()
    assert lines[0].startswith("200 records of ")
    assert lines[0].endswith(" tokens in 2 files")
    findings = lines[lines.index("Findings") + 1 :]
    assert findings[0].startswith("  harmful  all random next sentences (")
    assert findings[1].startswith("  doubtful  6.7% of the tokens of text are [UNK]")
    share = next(line for line in lines if line.startswith("shown as [MASK]"))
    figure = next(each for each in report.figures if each.name == "shown as [MASK]")
    assert f"{figure.part:,} of {figure.whole:,}" in share
    assert "80.0%" in share
    assert any(line.startswith("buckets ") for line in lines)
    bars = lines[lines.index("Lengths of records") + 2 : lines.index("Records of each shard") - 1]
    assert sum(int(line.split()[1]) for line in bars) == 200
    assert len(bars) <= 16


GOLDEN = Path(__file__).with_name("golden_report.txt")
FORMATS = (
    {"record_layout": "ragged"},
    {"record_layout": "reference"},
    {"output_format": "parquet"},
)


@pytest.mark.parametrize("options", FORMATS, ids=lambda options: "-".join(options.values()))
def test_the_golden_report_is_that_of_every_format(
    options: dict[str, str], tmp_path: Path, small_text: Path, small_vocabulary: Path
) -> None:
    create_dataset(
        DatasetConfig(
            input_file=str(small_text),
            output_file=str(tmp_path / "set@2"),
            vocab_file=str(small_vocabulary),
            instances=InstanceConfig(max_seq_length=64, max_predictions_per_seq=8, dupe_factor=3),
            **options,  # type: ignore[arg-type]
        )
    )
    config = CheckConfig(
        input_patterns=str(tmp_path / "set-*"),
        vocab_file=str(small_vocabulary),
        text_file=str(small_text),
    )
    shown = io.StringIO()
    show_check(Terminal(shown), check_set(config))
    assert shown.getvalue() == GOLDEN.read_text()


def test_a_good_set(tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(200, 0), num_shards=1)
    shown = io.StringIO()
    show_check(Terminal(shown), check_set(CheckConfig(input_patterns=pattern)))
    assert "Findings\nnone: the set is undamaged, and as it should be\n" in shown.getvalue()
    assert "Records of each shard" not in shown.getvalue()
