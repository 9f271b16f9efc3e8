"""The way in for commands: one line an error, one exit status a kind of end."""

import importlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bert_data.cli.entry import explain_foreign, foreign_flags
from bert_data.cli.main import COMMANDS

pytestmark = pytest.mark.process

PROGRAM = """
'A program that ends.'
import os, signal, sys, types
from absl import flags, logging
from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, flag
from bert_data.errors import CorruptDataError

HOW = flags.DEFINE_string("how", None, "What happens.", required=True)
NUMBERS = (flag("count", 1, "A number."), flag("share", 1.0, "A number."))
SECTIONS = [Section("", (*NUMBERS, flag("sure", False, "Whether.")))]

def be_ended_by(number):
    try:
        os.kill(os.getpid(), number)
    finally:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), each)
        print("cleaned up", flush=True)

def main(argv):
    logging.info("said that `count` is %d", 1)
    logging.warning("said so")
    logging.error("shouted")
    match HOW.value:
        case "well": print("done")
        case "value": raise ValueError("the field is\\n   wrong")
        case "option": raise ValueError("count is 0; 1 to 5 is allowed")
        case "missing": open("/no/such/file")
        case "two names": os.rename("/no/such/file", "/no/other")
        case "bare": raise OSError("no number")
        case "corrupt": raise CorruptDataError("a.gz", 7, "cut off", record=3)
        case "memory": raise MemoryError("Unable to allocate 9 GiB")
        case "empty": raise MemoryError
        case "tensorflow":
            class OpError(Exception): pass
            errors = types.SimpleNamespace(OpError=OpError)
            sys.modules["tensorflow"] = types.SimpleNamespace(errors=errors)
            head = "Graph execution error:\\n\\n<stack traces unavailable>\\n"
            raise OpError(head + "{{function_node a}} /x; Disk full\\n\\tmore [Op:SaveV2] name: ")
        case "bug": raise TypeError("a bug")
        case "nohup":
            os.kill(os.getpid(), signal.SIGHUP)
            print("still here")
        case other: be_ended_by(getattr(signal, other))

if __name__ == "__main__":
    entry.run(main)
"""


LOG = ["said that --count is 1", "warning: said so", "error: shouted"]


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("entry") / "my_program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def run(program, programs, tmp_path):
    return lambda *flags: programs.run([str(program), *flags], cwd=tmp_path)


def error_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Standard error without the log."""
    return [line for line in done.stderr.splitlines() if line not in LOG]


def test_a_good_end(run):
    done = run("--how=well")
    assert (done.returncode, done.stdout, error_lines(done)) == (0, "done\n", [])
    assert done.stderr.splitlines() == LOG


@pytest.mark.parametrize("flag", ["--alsologtostderr", "-v=1", "--verbosity=0"])
def test_the_log_in_the_form_of_absl(run, flag):
    form = r"{}\d{{4}} \d\d:\d\d:\d\d\.\d{{6}} +\d+ <?[\w.]+>?:\d+\] {}\n"
    levels = {"I": "said that --count is 1", "W": "said so", "E": "shouted"}
    lines = "".join(form.format(*each) for each in levels.items())
    assert re.fullmatch(lines, run("--how=well", flag).stderr)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("value", "the field is wrong"),
        ("option", "--count is 0; 1 to 5 is allowed"),
        ("missing", "/no/such/file: No such file or directory"),
        ("two names", "/no/such/file: No such file or directory"),
        ("bare", "no number"),
        ("corrupt", "a.gz: record 3, byte offset 7: cut off"),
        ("memory", "out of memory: Unable to allocate 9 GiB"),
        ("empty", "out of memory"),
        ("tensorflow", "TensorFlow: /x; Disk full"),
    ],
)
def test_an_error_is_one_line(run, how, sentence):
    done = run(f"--how={how}")
    assert done.returncode == 1
    assert error_lines(done) == [f"my_program: error: {sentence}"]
    assert done.stdout == ""


def test_a_bug_is_told_in_full(run):
    done = run("--how=bug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--how=well", "--cuont=3"], "unknown flag --cuont; did you mean --count? (see"),
        (["--how=well", "--count=three"], "--count is 'three'; it must be an integer (see --help"),
        (["--how=well", "--share=three"], "--share is 'three'; it must be a number (see --help"),
        (["--how=well", "--sure=three"], "--sure is 'three'; it must be true or false (see --help"),
        (["--how=well", "--count"], "--count"),
        (["--flagfile=/no"], "error: --flagfile: No such file or directory: '/no' (see --help"),
        ([], "--how"),
        (["--how=well", "a.txt", "b.txt"], "a.txt b.txt"),
        (["--how", "well", "b.txt"], "b.txt"),
    ],
)
def test_a_mistyped_flag_is_one_line(run, flags, named):
    done = run(*flags)
    assert done.returncode == 2
    [line] = error_lines(done)
    assert line.startswith("my_program: error: ")
    assert named in line
    assert done.stdout == ""


@pytest.mark.parametrize("flag", ["--help", "-h", "--helpfull"])
def test_help(run, flag):
    done = run(flag)
    assert (done.returncode, done.stderr) == (0, "")
    assert "A program that ends.\n\nmore:\n  --how=TEXT" in done.stdout
    assert ("--verbosity" in done.stdout) == (flag == "--helpfull")


def test_the_log_can_be_made_quiet(run):
    assert run("--how=well", "--verbosity=-1").stderr.splitlines() == LOG[1:]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_program_once_it_has_cleaned_up(run, name):
    done = run(f"--how={name}")
    assert done.returncode == 128 + getattr(signal, name)
    assert done.stdout == "cleaned up\n"
    assert error_lines(done) == [f"my_program: error: stopped by {name}"]


def test_a_signal_that_is_ignored_stays_ignored(program, checkout):
    """As by nohup: the program is not ended when its terminal is closed."""
    done = subprocess.run(
        ["sh", "-c", f"trap '' HUP; exec '{sys.executable}' '{program}' --how=nohup"],
        env=os.environ | {"PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "still here\n")


KNOWN = {"input_file", "compression", "num_workers", "output_prefix"}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gzip_compress", "--gzip_compress of tensorflow/models is --compression=gzip here"),
        ("nogzip_compress", "--gzip_compress of tensorflow/models is --compression=gzip here"),
        ("num-workers", "--num-workers is written --num_workers here"),
        ("workers", "--workers of Megatron-LM is --num_workers here"),
        (
            "use_fp16",
            "--use_fp16 of NVIDIA DeepLearningExamples is --mixed_precision=float16 of bert-data",
        ),
        (
            "input_file_mode",
            "--input_file_mode of google-research/albert has no counterpart here: text is read",
        ),
        (
            "json-keys",
            "--json-keys of Megatron-LM is --text_field of bert-data tokenize, which names one",
        ),
        (
            "data-path",
            "--data-path of Megatron-LM is --input --weights of bert-data build-samples, each with",
        ),
        ("data_impl", "--data-impl of Megatron-LM has no counterpart here: stores are always of"),
        ("data-cache-path", "--data-cache-path of Megatron-LM is --cache_dir of bert-data build-"),
        (
            "model_identifier",
            "--model_identifier of NeMo Curator is --tokenizer_file of bert-data tokenize, with a",
        ),
        ("hf_token", "--hf_token of NeMo Curator has no counterpart here: nothing is downloaded"),
        (
            "tokenization-batch-size",
            "--tokenization_batch_size of NeMo Curator has no counterpart here: memory is bounded",
        ),
    ],
)
def test_a_foreign_flag_is_answered_with_ours(name, sentence):
    assert (explain_foreign(name, KNOWN) or "").startswith(sentence)


@pytest.mark.parametrize("name", ["max_seq_lenght", "no", "x-y", ""])
def test_other_flags_are_not(name):
    assert explain_foreign(name, KNOWN) is None


@pytest.mark.process
def test_a_foreign_flag_that_is_typed_ends_with_ours(commands):
    assert commands.error("tokenize", "--output-prefix=a", status=2) == (
        "unknown flag: --output-prefix is written --output_prefix here (see --help)"
    )


def test_the_document_has_a_table_for_each_program(checkout):
    text = (checkout / "docs" / "migrating.md").read_text(encoding="utf-8")
    tables = {(command, flag.program) for command, each in foreign_flags().items() for flag in each}
    assert set(re.findall(r"^<!-- foreign (\w+) (.+) -->$", text, re.MULTILINE)) == tables


def test_our_flags_exist():
    names = [f"bert_data.cli.{name.replace('-', '_')}" for name in COMMANDS]
    modules = map(importlib.import_module, names)
    sections = [section for module in modules for section in module.SECTIONS]
    defined = {setting.name for section in sections for setting in section.settings}
    foreign = [flag for each in foreign_flags().values() for flag in each]
    named = [n for f in foreign for n in re.findall(r"--(\w+)", f"{f.ours} {f.remark}")]
    assert {name.removeprefix("no") if name == "nodo_lower_case" else name for name in named} <= (
        defined
    )
    assert not {flag.name for flag in foreign} & (defined - {"input"})


def test_a_flag_of_another_command_of_ours_is_not_taken_for_a_foreign_one():
    assert explain_foreign("vocab_file", {"vocab_size"}) is None
    assert explain_foreign("vocab-file", {"vocab_size"}) == (
        "--vocab-file of Megatron-LM is --vocab_file of bert-data tokenize, or, for GPT-2's"
        " vocab.json, --tokenizer_file"
    )
