"""Keyword arguments as type checkers see them, against what functions take."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import bert_data
from bert_data.api.arguments import Options
from tests.test_documentation import load_script

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["The miller went home. He slept.", "It rained. Nobody minded."]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("keywords")


@pytest.mark.process
def test_stub_is_that_of_the_declarations(script: ModuleType) -> None:
    assert script.STUB.read_text() == script.write(), "python docs/keywords.py writes it"


def test_functions_accept_what_the_stub_has(script: ModuleType) -> None:
    for function in script.FUNCTIONS:
        names = script.keywords(function)
        assert len(names) >= 4
        Options(function, dict.fromkeys(names))
        with pytest.raises(TypeError, match=rf"^{function}\(\) has no option 'output_dirs'"):
            Options(function, {"output_dirs": "x"})


def test_a_setting_that_the_function_decides_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^train\(\) has no option 'vocab_size'"):
        Options("train", {"vocab_size": 5})


WRONG = """
import bert_data

bert_data.create_records(["a"], "out", vocab_file="v", max_seq_length=64, masking="spans")
bert_data.create_records(["a"], "out", max_seq_len=64)  # A
bert_data.create_records(["a"], "out", masking="span")  # B
bert_data.tokenize(["a"], "out", append_eod="yes")  # C
for batch in bert_data.iterate_arrays("train-*", width=(64, 128), num_epochs=None):
    print(batch)
"""


@pytest.mark.slow
@pytest.mark.process
def test_mypy_sees_wrong_names_and_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WRONG)
    command = [sys.executable, "-m", "mypy", str(program)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    # By its name: the checkout's cache keeps the path of an earlier run's program.
    lines = sorted({int(n) for n in re.findall(rf"{program.name}:(\d+): error", done.stdout)})
    assert lines == [n for n, line in enumerate(WRONG.splitlines(), 1) if "#" in line], done.stdout


def test_a_vocabulary_that_is_no_wordpiece_has_no_such_file(tmp_path: Path) -> None:
    vocabulary = bert_data.train_vocab(DOCUMENTS, tmp_path / "v.txt", vocab_size=300, model="bpe")
    with pytest.raises(ValueError, match=r"^the vocabulary is no WordPiece: `tokenizer_f"):
        bert_data.tokenize(DOCUMENTS, tmp_path / "a", vocab_file=vocabulary)
