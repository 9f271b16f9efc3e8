"""The log of metrics: one line a step, whatever happened to the runs that wrote it."""

import json
import math
from pathlib import Path

import pytest

from bert_data.training.run_output import METRICS_LOG, MetricsLog


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / METRICS_LOG).read_text().splitlines()]


def test_a_run_that_continues_repeats_no_step(tmp_path: Path) -> None:
    log = MetricsLog(str(tmp_path), 0)
    for step in (1, 5, 10):
        log.write(step, {"loss": 7.0 - step})
    with (tmp_path / METRICS_LOG).open("a") as file:
        file.write('{"step": 12, "lo')  # what a full disk leaves
    log = MetricsLog(str(tmp_path), 5)
    log.write(6, {"loss": 0.5})
    assert lines(tmp_path) == [
        {"step": 1, "loss": 6.0},
        {"step": 5, "loss": 2.0},
        {"step": 6, "loss": 0.5},
    ]
    assert MetricsLog(str(tmp_path), 0) and not lines(tmp_path)


def test_numbers_have_the_digits_of_float32_and_infinity_is_null(tmp_path: Path) -> None:
    log = MetricsLog(str(tmp_path), 0)
    log.write(1, {"loss": 0.10000000149011612, "gradient_norm": math.inf, "x": math.nan})
    assert lines(tmp_path) == [{"step": 1, "loss": 0.100000001, "gradient_norm": None, "x": None}]


@pytest.mark.parametrize("line", ["[1]", "{}", '{"step": "3"}', "null", '{"step": true'])
def test_other_lines_are_removed(tmp_path: Path, line: str) -> None:
    (tmp_path / METRICS_LOG).write_text(f'{{"step": 1}}\n{line}\n')
    MetricsLog(str(tmp_path), 9)
    assert lines(tmp_path) == [{"step": 1}]


def test_a_log_of_another_program_stays(tmp_path: Path) -> None:
    mine = '{"epoch": 1, "accuracy": 0.5}\n'
    (tmp_path / METRICS_LOG).write_text(mine)
    with pytest.raises(ValueError, match=r"metrics.jsonl was not written by a training run; move"):
        MetricsLog(str(tmp_path), 0)
    assert (tmp_path / METRICS_LOG).read_text() == mine
    (tmp_path / METRICS_LOG).write_text('{"st')  # as a run that was killed left it
    MetricsLog(str(tmp_path), 0)
