"""The best checkpoint, and what a run that continues makes of it."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.training.checkpoints import latest_checkpoint, save_checkpoint
from bert_data.training.evaluation import load_pretrained
from bert_data.training.run_output import METRICS_LOG, BestCheckpoint, MetricsLog
from bert_data.training.state import TrainingState
from tests.training.tiny import state_of, tiny_config

CONFIG = tiny_config(num_hidden_layers=1)


@pytest.fixture(scope="module")
def state() -> TrainingState:
    return state_of()


def offer(best: BestCheckpoint, state: TrainingState, step: int, **results: float) -> bool:
    state.optimizer.iterations.assign(step)
    return best.offer(state, results)


def checkpoints(best: BestCheckpoint) -> list[str]:
    return sorted(name for name in os.listdir(best.folder) if name.endswith(".index"))


def new(folder: Path, metric: str = "masked_lm_loss", data: str = "a") -> BestCheckpoint:
    return BestCheckpoint(str(folder), CONFIG, metric, data)


def test_only_the_best_is_kept(tmp_path: Path, state: TrainingState) -> None:
    best = new(tmp_path)
    assert offer(best, state, 3, masked_lm_loss=5.0)
    assert not offer(best, state, 4, masked_lm_loss=float("nan"))
    assert not offer(best, state, 5, masked_lm_loss=5.0)
    assert offer(best, state, 6, masked_lm_loss=4.5)
    assert checkpoints(best) == ["model.ckpt-6.index"]
    results = (tmp_path / "best" / "eval_results.txt").read_text()
    assert results == "global_step = 6\nmasked_lm_loss = 4.5\n"
    assert load_pretrained(best.folder).config == CONFIG

    again = new(tmp_path)  # a run that continues
    assert not offer(again, state, 9, masked_lm_loss=4.6)
    assert offer(again, state, 4, masked_lm_loss=4.4)  # it continues from before step 6
    assert checkpoints(again) == ["model.ckpt-4.index"]


def test_checkpoints_that_somebody_keeps_there_stay(tmp_path: Path, state: TrainingState) -> None:
    values = {"global_step": np.int64(2)}
    (tmp_path / "best").mkdir()
    save_checkpoint(str(tmp_path / "best"), 2, values, num_kept=1)
    (tmp_path / "best" / "model.ckpt-3.data-backup").write_bytes(b"precious")
    best = new(tmp_path)
    for step, loss in ((3, 5.0), (6, 4.0), (1, 3.0)):
        assert offer(best, state, step, masked_lm_loss=loss)
        kept = {f"model.ckpt-{number}.index" for number in (2, step)}
        assert set(checkpoints(best)) == kept
        assert latest_checkpoint(best.folder) == f"{best.folder}/model.ckpt-{step}"
    assert (tmp_path / "best" / "model.ckpt-3.data-backup").read_bytes() == b"precious"


def test_the_highest_accuracy_is_best(tmp_path: Path, state: TrainingState) -> None:
    best = new(tmp_path, "masked_lm_accuracy")
    assert offer(best, state, 1, masked_lm_accuracy=0.1)
    assert not offer(best, state, 2, masked_lm_accuracy=0.05)
    assert offer(best, state, 3, masked_lm_accuracy=0.2)


def test_other_data_are_not_compared(
    tmp_path: Path, state: TrainingState, caplog: pytest.LogCaptureFixture
) -> None:
    offer(new(tmp_path), state, 8, masked_lm_loss=1.0)
    other = new(tmp_path, data="b")
    assert "was evaluated on other data" in caplog.text
    assert offer(other, state, 5, masked_lm_loss=2.0)
    assert checkpoints(other) == ["model.ckpt-5.index"]


def test_a_damaged_one_is_replaced(
    tmp_path: Path, state: TrainingState, caplog: pytest.LogCaptureFixture
) -> None:
    offer(new(tmp_path), state, 8, masked_lm_loss=1.0)
    index = tmp_path / "best" / "model.ckpt-8.index"
    index.write_bytes(index.read_bytes()[:20])
    assert offer(new(tmp_path), state, 9, masked_lm_loss=2.0)
    assert "the next evaluation's checkpoint takes its place" in caplog.text


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
