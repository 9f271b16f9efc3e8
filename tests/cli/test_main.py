"""`bert-data`: the commands by name, their pages of help, and mistyped names."""

import os
import re
import signal
import subprocess
import sys

import pytest

from bert_data import __version__, interrupts
from bert_data.cli.main import COMMANDS, main

COVERS = ("__main__", "cli/train")

# Runs each command with an argument in a process of its own, forked from this one.
EACH_COMMAND = """
import os, sys
from bert_data.cli.main import COMMANDS, main
for command in COMMANDS:
    sys.stdout.flush()
    if not os.fork():
        sys.argv = ["bert-data", command, *sys.argv[1:]]
        sys.exit(main())
    status = os.waitstatus_to_exitcode(os.wait()[1])
    print(f"status {status} of {command}", flush=True)
"""


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/bert-data", *arguments])
    return main()


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], ["help"]])
def test_help_lists_all_commands(monkeypatch, capsys, arguments):
    assert call(monkeypatch, *arguments) == 0
    page = capsys.readouterr().out
    assert [f"  {each} " in page for each in COMMANDS] == [True] * len(COMMANDS)
    assert max(map(len, page.splitlines())) <= 80
    assert call(monkeypatch) == 2
    assert capsys.readouterr() == ("", page)


def test_version(monkeypatch, capsys):
    assert call(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"bert_data {__version__}\n"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tokenise", "'tokenise' is not a command; did you mean tokenize?"),
        ("create_pretraining_data", "'create_pretraining_data' is not a command; did you mean cre"),
        ("create-pretraining-data.py", "not a command; did you mean create?"),
        ("run_pretraining", "not a command; did you mean train?"),
        ("pretokenize", "not a command; did you mean tokenize?"),
        ("train_tokenizer", "not a command; did you mean train-vocab?"),
        ("preprocess_data.py", "not a command; did you mean tokenize?"),
        ("crate", "'crate' is not a command; did you mean curate or create?"),
        ("creat", "'creat' is not a command; did you mean create?"),
        ("Train-Vocab", "'Train-Vocab' is not a command; did you mean train-vocab?"),
        ("frobnicate", "'frobnicate' is not a command (--help lists the commands)"),
        ("--input_file=a", "the command comes first: bert-data NAME --flag=value"),
    ],
)
def test_a_mistyped_name_gets_one_line(monkeypatch, capsys, name, sentence):
    assert call(monkeypatch, name) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("bert-data: error: ")
    assert sentence in said.err
    assert said.err.count("\n") == 1


def test_a_signal_while_a_command_is_imported_is_one_line(monkeypatch, capsys):
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    monkeypatch.setattr(interrupts, "requested", None)
    monkeypatch.setattr("runpy.run_module", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    try:
        assert call(monkeypatch, "plan") == 128 + signal.SIGTERM
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert capsys.readouterr().err == "bert-data plan: error: stopped by SIGTERM\n"


def test_every_command_has_a_line(checkout):
    """A module of the folder that calls entry.run is a command."""
    with_main = {
        path.stem
        for path in (checkout / "bert_data" / "cli").glob("*.py")
        if "__main__" in path.read_text() and path.stem not in ("main", "__init__")
    }
    assert {name.replace("-", "_") for name in COMMANDS} == with_main


@pytest.fixture
def run_each(checkout):
    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", EACH_COMMAND, *arguments],
            env=os.environ | {"PYTHONPATH": str(checkout), "COLUMNS": "80"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout + done.stderr

    return run


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("flag", ["--help", "--helpfull"])
def test_every_command_has_a_page_with_common_flags_first(run_each, flag):
    pages = run_each(flag).split("usage: ")[1:]
    assert len(pages) == len(COMMANDS)
    for command, page in zip(COMMANDS, pages, strict=True):
        assert page.startswith(f"bert-data {command} --flag=value ...\n\n")
        assert f"    bert-data {command} " in page.partition("\ncommon:\n  --")[0], page
        assert page.endswith(f"status 0 of {command}\n")
        assert [line for line in page.splitlines() if len(line) > 80] == []
        assert not re.search(r"\[no\]no|(?i:(with --\w+: )\s*\1)", " ".join(page.split()))


@pytest.mark.process
def test_garbage_is_collected_once_a_command_runs(checkout):
    program = (
        "import gc, runpy, sys\n"
        "from bert_data.cli import entry, main\n"
        "sys.argv = ['bert-data', 'plan']\n"
        "runpy.run_module = lambda *_, **__: entry.run(lambda _: print(gc.isenabled()))\n"
        "main.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=checkout, stdout=-1, text=True)
    assert (done.stdout, done.returncode) == ("True\n", 0)


@pytest.mark.process
@pytest.mark.parametrize("module", ["bert_data", "bert_data.cli.main"])
def test_a_command_knows_its_name_and_its_flags(tmp_path, checkout, module):
    """The same by `python -m`, beside modules with the names of ours."""
    for name in ("create_pretraining_data", "run_pretraining", "cli", "bert_data_cli"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py was imported')\n")
    done = subprocess.run(
        [sys.executable, "-m", module, "create", "--input_file=none.txt", "--output_file=o"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(checkout)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("bert-data create: error: ")
