"""Signals raise KeyboardInterrupt until the program cleans up, even if Python loses one."""

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from bert_data import interrupts


@pytest.fixture(autouse=True)
def _handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(interrupts, "requested", None)
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupts.raise_on_signals()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_raises_its_number_and_is_noted() -> None:
    assert interrupts.requested is None
    with pytest.raises(KeyboardInterrupt) as interrupt:
        signal.raise_signal(signal.SIGTERM)
    assert interrupt.value.args == (signal.SIGTERM,)
    assert interrupts.requested == signal.SIGTERM


def test_ignored_signals_stay_ignored() -> None:
    signal.raise_signal(signal.SIGHUP)
    assert interrupts.requested is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_after_a_lost_interrupt_the_next_signal_raises() -> None:
    class Module:
        pass

    module = Module()
    reference = weakref.ref(module, lambda _: signal.raise_signal(signal.SIGINT))
    del module  # the callback's exception is dropped
    assert reference() is None
    assert interrupts.requested == signal.SIGINT
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert interrupts.requested == signal.SIGINT  # the first


def test_cleaning_up_is_not_interrupted() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt) as interrupt:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGTERM)
            try:
                raise OSError("gone")
            except OSError:
                signal.raise_signal(signal.SIGTERM)
            steps.append("cleaned up")
    assert interrupt.value.args == (signal.SIGINT,)
    assert steps == ["cleaned up"]


def test_the_end_of_a_program_is_not_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    assert interrupts.end("bert-data plan", KeyboardInterrupt(signal.SIGTERM)) == 143
    signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err == "bert-data plan: error: stopped by SIGTERM\n"


def test_a_program_without_standard_error_ends_with_the_same_status(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert interrupts.end("bert-data plan", KeyboardInterrupt(signal.SIGTERM)) == 143


@pytest.mark.process
@pytest.mark.parametrize(
    ("script", "number"),
    [("create_pretraining_data", signal.SIGINT), ("run_pretraining", signal.SIGTERM)],
)
def test_a_script_that_is_stopped_while_it_imports_says_so_in_a_line(
    tmp_path: Path, checkout: Path, script: str, number: signal.Signals
) -> None:
    """Both import absl first."""
    (tmp_path / "absl").mkdir()
    (tmp_path / "absl" / "__init__.py").write_text(
        f"import signal\nsignal.raise_signal({int(number)})\n"
    )
    done = subprocess.run(
        [sys.executable, str(checkout / f"{script}.py"), "--input_file=x"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == f"{script}: error: stopped by {number.name}\n"
    assert done.returncode == interrupts.SIGNAL_STATUS + number


def test_other_errors_keep_their_traces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    interrupts.end_imports_on_signals()
    error = ImportError("no such module")
    sys.excepthook(ImportError, error, None)
    assert capsys.readouterr().err == "ImportError: no such module\n"
