"""The flags of text are told by --help of all commands that have them."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    "command",
    [
        ["create_pretraining_data.py"],
        ["-m", "bert_data.cli.tokenize"],
        ["-m", "bert_data.cli.train_vocab"],
    ],
    ids=lambda command: command[-1],
)
def test_help(checkout, command):
    done = subprocess.run(
        [sys.executable, *command, "--help"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    for flag in ("input_format", "text_field", "language", "on_error", "encoding_errors"):
        assert f"  --{flag}=" in done.stdout
    words = " ".join(done.stdout.split())
    assert ".gz, .zst, .bz2 and .xz are decompressed" in words
    for name in ("mediawiki", "stackexchange", "arxiv", "code", "gutenberg", "epub"):
        assert f" {name}: " in words, f"--input_format does not explain {name}"
    assert ("|store\n" in done.stdout) == (command == ["create_pretraining_data.py"])
