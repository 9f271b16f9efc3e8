"""Sets of labelled texts and GPT samples: their files are checked."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bert_data.gpt import GptConfig, build_datasets
from bert_data.gpt.export import export_splits
from bert_data.gpt.gpt_config import SampleExportConfig
from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.figures import DAMAGED, DOUBTFUL
from bert_data.inspection.set_check import Report, check_set
from tests.gpt.stores import write_store
from tests.labelled.making import NUM_RECORDS, write_labelled


def check(pattern: str) -> Report:
    return check_set(CheckConfig(input_patterns=pattern, num_workers=1))


def found(report: Report) -> list[tuple[str, str]]:
    return [(finding.name, finding.severity) for finding in report.findings]


@pytest.fixture(params=["labelled", "tfrecord", "parquet"])
def pattern(request: pytest.FixtureRequest, tmp_path: Path, small_vocabulary: Path) -> str:
    """A set of three shards, t-*."""
    if request.param == "labelled":
        write_labelled(tmp_path, small_vocabulary)
        return f"{tmp_path}/t-*"
    prefix = write_store(tmp_path / "s", [list(range(1, 30))] * 9)
    dataset, *_ = build_datasets([prefix], GptConfig(seq_length=8))
    config = SampleExportConfig(output_file=f"{tmp_path}/t@3", output_format=request.param)
    assert dataset is not None
    export_splits([dataset], config)
    return f"{tmp_path}/t-*"


def test_good_sets_have_no_finding(pattern: str) -> None:
    report = check(pattern)
    assert found(report) == []
    assert report.kind in ("labelled texts", "GPT samples")
    assert report.num_records == (NUM_RECORDS if "lab" in report.kind else 32)
    assert sum(count for _, count in report.shards) == report.num_records


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_damage_is_found_in_its_shard(pattern: str, damage: Callable[[Path], None]) -> None:
    path = Path(pattern.replace("*", "00001-of-00003"))
    damage(path)
    report = check(pattern)
    assert report.is_harmful
    assert found(report)[0] == ("missing" if damage == Path.unlink else "damage", DAMAGED)
    assert str(path) in report.findings[0].sentence


def test_a_part_of_a_set_is_doubtful(pattern: str) -> None:
    assert found(check(pattern.replace("*", "00001-of-00003"))) == [("unread", DOUBTFUL)]
