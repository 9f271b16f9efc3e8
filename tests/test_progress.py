"""Progress: lines in a log now and then, a bar on a terminal."""

import io
import sys

import pytest
from absl import logging

from bert_data import progress as module
from bert_data.progress import duration, progress


@pytest.fixture
def said(monkeypatch) -> list[str]:
    """The log's lines."""
    lines: list[str] = []
    monkeypatch.setattr(logging, "info", lambda text, *values: lines.append(text % values))
    return lines


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """A clock that stands still at its only item."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_line_every_ten_seconds(said, clock):
    with progress("make instances", total=2000, unit="document") as advance:
        for _ in range(100):
            clock[0] += 0.25
            advance(10)
    assert said == [
        "make instances: 20% (400 of 2,000 documents), 0:00:40 left",
        "make instances: 40% (800 of 2,000 documents), 0:00:30 left",
    ]


def test_a_short_stage_says_nothing(said, clock):
    with progress("write", total=5, unit="record") as advance:
        clock[0] += 9.9
        advance(5)
    assert said == []


def test_an_unknown_total(said, clock):
    with progress("tokenize", total=0, unit="B") as advance:
        clock[0] += 11
        advance(1_234_567)
    assert said == ["tokenize: 1,234,567 B"]


def test_nothing_done_yet(said, clock):
    with progress("tokenize", total=7, unit="B") as advance:
        clock[0] += 11
        advance(0)
    assert said == ["tokenize: 0 B"]


def test_a_bar_on_a_terminal(said, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("make instances", total=8, unit="document") as advance:
        advance(4)
        advance(4)
    assert "make instances" in terminal.getvalue()
    assert said == []


def test_an_error_goes_through(said):
    with pytest.raises(ValueError, match="stop"), progress("x", total=1, unit="y"):
        raise ValueError("stop")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00:00"), (59.6, "0:01:00"), (3599, "0:59:59"), (90_061, "25:01:01"), (-3, "0:00:00")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text
