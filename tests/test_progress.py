"""Progress: lines in a log now and then, a bar on a terminal."""

import functools
import io
import sys
import threading

import pytest
from absl import logging

from bert_data import progress as module
from bert_data.kernels.calling import stop_clock
from bert_data.progress import duration, how_many, progress, size, tell_time


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


def test_a_line_every_ten_seconds(said, clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)  # as it is where a program closed it
    with progress("make instances", total=2000, unit="document") as advance:
        for _ in range(100):
            clock[0] += 0.25
            advance(10)
    assert said == [
        "make instances: 20% (400 of 2,000 documents), 0:00:40 left",
        "make instances: 40% (800 of 2,000 documents), 0:00:30 left",
    ]


@pytest.mark.parametrize(
    ("total", "unit", "seconds", "done", "line"),
    [
        (5, "record", 9.9, 5, []),  # a short stage says nothing
        (0, "B", 11, 1_234_567, ["tokenize: 1.2 MB"]),
        (7, "B", 11, 0, ["tokenize: 0 bytes"]),
        (2_000_000_000, "B", 11, 500_000_000, ["tokenize: 25% (500.0 MB of 2.0 GB), 0:00:33 left"]),
    ],
)
def test_a_line_of_what_is_known(said, clock, total, unit, seconds, done, line):
    with progress("tokenize", total=total, unit=unit) as advance:
        clock[0] += seconds
        advance(done)
    assert said == line


class Terminal(io.StringIO):
    """A terminal, which knows what it shows."""

    def isatty(self) -> bool:
        return True

    def show(self) -> list[str]:
        """Return the lines, as a carriage return and what overwrites them leave them."""
        return [
            functools.reduce(overwrite, line.split("\r")) for line in self.getvalue().split("\n")
        ]


def overwrite(shown: str, text: str) -> str:
    return text + shown[len(text) :]


def use_terminal(monkeypatch) -> Terminal:
    """Make a terminal of standard error, to which the log goes, too; pytest undoes a fixture's."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(logging.get_absl_handler().python_handler, "stream", terminal)
    return terminal


def test_a_bar_on_a_terminal(said, monkeypatch):
    terminal = use_terminal(monkeypatch)
    with progress("make instances", total=8, unit="document") as advance:
        advance(4)
        assert "make instances:   0%" in terminal.getvalue()
        assert "0/8" not in terminal.getvalue() and "0.00 of 8.00 documents" in terminal.getvalue()
        advance(4)
    assert sys.stderr is terminal
    assert said == []


def test_lines_go_above_a_bar(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with progress("tokenize", total=8_000_000, unit="B") as advance:
        advance(4_000_000)
        print("one", "line", file=sys.stderr)
        logging.get_absl_handler().python_handler.stream.write("logged\n")
        sys.stderr.write("no end")
        assert "no end" not in terminal.getvalue()
    assert sys.stderr is terminal
    assert logging.get_absl_handler().python_handler.stream is terminal
    assert [line.rstrip() for line in terminal.show()] == ["one line", "logged", "no end"]


def test_a_bar_says_that_kernels_are_compiled(monkeypatch):
    terminal = use_terminal(monkeypatch)
    now = [1000.0]
    for name in ("time.time", "tqdm.std.time"):
        monkeypatch.setattr(name, lambda: now[0])
    with progress("tokenize", total=40, unit="line") as advance:
        with stop_clock():
            assert "compiling kernels:   0%" in terminal.show()[-1]
            with stop_clock():  # in another thread
                now[0] += 100
        assert "tokenize:   0%" in terminal.show()[-1]
        now[0] += 2
        advance(20)
        assert "50%" in terminal.show()[-1] and "[00:02<00:02]" in terminal.show()[-1]


def test_a_stage_within_a_stage(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with progress("outer", total=2, unit="task") as advance:
        advance(1)
        above = sys.stderr
        with progress("inner", total=0, unit="line") as advance_inner:
            advance_inner(1)
            assert sys.stderr is above
            print("a line", file=sys.stderr)
        advance(1)
    assert sys.stderr is terminal
    assert "a line\n" in terminal.getvalue()


def test_one_thing_and_several():
    assert [how_many(n, "file") for n in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]
    assert how_many(2, "entry") == "2 entries"


def test_an_error_goes_through(said):
    with pytest.raises(ValueError, match="stop"), progress("x", total=1, unit="y"):
        raise ValueError("stop")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00:00"), (59.6, "0:01:00"), (3599, "0:59:59"), (90_061, "25:01:01"), (-3, "0:00:00")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_234_567, "1.2 MB"),
        (54 * 10**9, "54.0 GB"),
        (5 * 10**16, "50,000.0 TB"),
    ],
)
def test_size(num_bytes, text):
    assert size(num_bytes) == text


def test_what_reports_nothing_says_how_long_it_has_run(monkeypatch):
    lines: list[str] = []
    has_spoken = threading.Event()

    def info(text, *values):
        lines.append(text % values)
        has_spoken.set()

    monkeypatch.setattr(logging, "info", info)
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.001)
    with tell_time("merge pieces"):
        assert has_spoken.wait(600)
    assert lines[0] == "merge pieces: 0:00:00 so far"
    num_lines = len(lines)
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 1000.0)
    monkeypatch.setattr(sys, "stderr", None)
    with tell_time("a short stage"):
        pass  # its end does not wait for the next line
    assert len(lines) == num_lines
