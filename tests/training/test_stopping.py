"""SIGTERM in training: the step is finished, a checkpoint saved, and nothing is lost."""

import os
import signal
import threading
from pathlib import Path

import pytest

from bert_data import interrupts
from bert_data.training.checkpoints import latest_checkpoint
from bert_data.training.loop import train
from bert_data.training.steps import TrainingReport
from bert_data.training.stopping import StopRequest, heed_signals
from bert_data.training.training_config import TrainingConfig
from tests.training.tiny import batches_of, random_batch, tiny_config

EXAMPLES = random_batch(num_examples=20)


def run(folder: Path, losses: dict[int, float], *, stop_at: int | None = None) -> None:
    """Trains 12 steps and notes their losses; SIGTERM comes after the report of step `stop_at`."""

    def observe(report: TrainingReport) -> None:
        first = report.step - len(report.losses) + 1
        losses.update(zip(range(first, report.step + 1), map(float, report.losses), strict=True))
        if report.step == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)

    config = TrainingConfig(
        output_dir=str(folder), num_train_steps=12, batch_size=8, learning_rate=1e-2,
        num_warmup_steps=0, log_every_steps=4,
    )  # fmt: skip
    bert = tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2)
    train(config, bert, batches_of(EXAMPLES, 8), observers=[observe])


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    later, whole = dict[int, float](), dict[int, float]()
    with pytest.raises(KeyboardInterrupt) as interrupt:
        run(tmp_path / "a", {}, stop_at=4)
    assert interrupt.value.args == (signal.SIGTERM,)
    last = int(latest_checkpoint(str(tmp_path / "a")).rpartition("-")[2])
    assert 5 <= last <= 12  # as soon as the signal has reached the graph
    assert signal.getsignal(signal.SIGTERM) is before
    run(tmp_path / "a", later)
    with pytest.raises(KeyboardInterrupt):  # a signal after the last step is not forgotten
        run(tmp_path / "b", whole, stop_at=12)
    assert later == {step: whole[step] for step in range(last + 1, 13)}
    run(tmp_path / "b", {}, stop_at=1)  # nothing is left to do


def test_signals_are_noted_once_and_only_those_that_would_end_the_program() -> None:
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heed_signals() as stop:
            assert float(stop.flag) == 0
            os.kill(os.getpid(), signal.SIGHUP)
            stop.raise_if_asked()
            for number in (signal.SIGTERM, signal.SIGINT):
                os.kill(os.getpid(), number)
        # The pipe is read to its end before the block is left.
        assert (stop.signal_number, float(stop.flag)) == (signal.SIGTERM, 1)
    finally:
        signal.signal(signal.SIGHUP, ignored)


def test_an_interrupt_that_was_lost_before_stops_training(monkeypatch) -> None:
    monkeypatch.setattr(interrupts, "requested", signal.SIGINT)
    with heed_signals() as stop:
        assert (stop.signal_number, float(stop.flag)) == (signal.SIGINT, 1)


def test_another_host_may_have_been_asked() -> None:
    stop = StopRequest()
    stop.note_other_host()
    with pytest.raises(KeyboardInterrupt):
        stop.raise_if_asked()


def test_threads_heed_nothing() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def look() -> None:
        with heed_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]
