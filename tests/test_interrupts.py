"""Signals raise KeyboardInterrupt until the program cleans up, even if Python loses one."""

import signal
import weakref
from collections.abc import Iterator

import pytest

from bert_data import interrupts


@pytest.fixture(autouse=True)
def _handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(interrupts, "_requested", None)
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupts.raise_on_signals()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_raises_its_number_and_is_noted() -> None:
    assert interrupts.requested_signal() is None
    with pytest.raises(KeyboardInterrupt) as interrupt:
        signal.raise_signal(signal.SIGTERM)
    assert interrupt.value.args == (signal.SIGTERM,)
    assert interrupts.requested_signal() == signal.SIGTERM


def test_ignored_signals_stay_ignored() -> None:
    signal.raise_signal(signal.SIGHUP)
    assert interrupts.requested_signal() is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_after_a_lost_interrupt_the_next_signal_raises() -> None:
    class Module:
        pass

    module = Module()
    reference = weakref.ref(module, lambda _: signal.raise_signal(signal.SIGINT))
    del module  # the callback's exception is dropped
    assert reference() is None
    assert interrupts.requested_signal() == signal.SIGINT
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert interrupts.requested_signal() == signal.SIGINT  # the first


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
