"""The command that gives a model new tokens."""

import pytest

from tests.hub.exports import write_model

pytestmark = pytest.mark.process


@pytest.mark.slow
def test_a_text_and_a_file_name_new_tokens(tmp_path, tensorflow_commands):
    (tmp_path / "model").mkdir()
    model = write_model(tmp_path / "model")
    (tmp_path / "text.txt").write_text("Goodly film.\nbadly goodly\n\ngoodly\n")
    flags = [
        f"--init_checkpoint={tmp_path}/model", f"--vocab_file={model.vocab_file}",
        f"--input_file={tmp_path}/text.txt",
    ]  # fmt: skip
    said = tensorflow_commands.well(
        "extend_vocab", *flags, "--min_count=2", "--output_dir=out"
    ).stderr
    assert "occur at least 2 times (--min_count): no more than 1\n" in said
    assert "new tokens     1 (goodly), 0 of them in [unused] places" in said
    assert (tmp_path / "out" / "vocab.txt").read_text().split()[-1] == "goodly"
    (tmp_path / "new.txt").write_text("BADLY\n")
    files = ("--new_tokens_file=new.txt", "--output_dir=two")
    said = tensorflow_commands.well("extend_vocab", *flags, *files).stderr
    assert (tmp_path / "two" / "vocab.txt").read_text().split()[-1] == "badly"
    assert "1.6667 -> 1.5000 tokens per word" in said


def test_no_new_tokens(tmp_path, tensorflow_commands):
    given = (f"--init_checkpoint={tmp_path}", "--vocab_file=v", "--output_dir=out")
    assert tensorflow_commands.error("extend_vocab", *given) == (
        "set --input_file, --new_tokens_file or both: they name the new tokens"
    )
