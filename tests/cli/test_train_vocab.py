"""The command that makes a vocabulary, as a user types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import load_tokenizer

pytestmark = pytest.mark.process


def run(checkout: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bert_data.cli.train_vocab", *flags]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def test_the_same_text_gives_the_same_bytes_in_every_process(
    checkout: Path, tmp_path: Path
) -> None:
    # All six-letter words once: nearly every count is a tie.
    text = tmp_path / "text.txt"
    words = [f"{a}{b}{c}{a}{c}{b}" for a in "abcdefg" for b in "hijklmn" for c in "opqrstu"]
    text.write_text("\n".join(words), encoding="utf-8")
    vocabularies = []
    for attempt in range(4):
        path = tmp_path / f"vocab{attempt}.txt"
        result = run(checkout, f"--input_file={text}", "--vocab_size=150", f"--output_file={path}")
        assert result.returncode == 0, result.stderr
        vocabularies.append((path.read_bytes(), path.with_suffix(".tokenizer.json").read_bytes()))
    assert vocabularies[0][0].count(b"\n") == 150
    assert vocabularies == vocabularies[:1] * 4


def test_says_what_it_made(checkout: Path, small_text: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "vocab.txt"
    result = run(checkout, f"--input_file={small_text}", "--vocab_size=60", f"--output_file={path}")
    assert result.returncode == 0
    assert f"{path}: 60 tokens from " in result.stderr
    assert path.read_text(encoding="utf-8").splitlines()[:2] == ["[PAD]", "[UNK]"]
    names = {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}
    assert {p.name for p in path.parent.iterdir()} == names


def test_both_files_mean_the_same(checkout: Path, small_text: Path, tmp_path: Path) -> None:
    rows = [{"body": text} for text in small_text.read_text(encoding="utf-8").split("\n\n")]
    text = tmp_path / "text.jsonl"
    text.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    flags = (f"--input_file={text}", "--text_field=body", "--vocab_size=60")
    for lower in (True, False):
        path = tmp_path / f"{lower}.txt"
        result = run(checkout, *flags, f"--output_file={path}", f"--do_lower_case={lower}")
        assert result.returncode == 0, result.stderr
        tokenizer = load_tokenizer(None, str(tmp_path / f"{lower}.tokenizer.json"))
        assert isinstance(tokenizer, FastTokenizer)
        of_lines = load_tokenizer(str(path), do_lower_case=lower)
        assert isinstance(of_lines, FastTokenizer)
        assert tokenizer.sha256 == of_lines.sha256
        assert (tokenizer.do_lower_case, tokenizer.max_word_letters) == (lower, 200)
        library = Tokenizer.from_file(str(tmp_path / f"{lower}.tokenizer.json"))
        expected = library.encode("Babado zzz, " + "do" * 90, add_special_tokens=False).ids
        assert tokenizer.encode("Babado zzz, " + "do" * 90) == expected
        assert library.encode("ba").tokens[0] == "[CLS]"
        short, _ = library.encode_batch(["ba", "ba ba"])
        assert short.tokens[-1] == "[PAD]"
        roles = json.loads((tmp_path / f"{lower}.tokenizer_config.json").read_text())
        assert (roles["mask_token"], roles["pad_token"]) == ("[MASK]", "[PAD]")
        assert library.padding["pad_id"] == library.token_to_id("[PAD]")


def test_says_when_the_text_is_too_small(checkout: Path, small_text: Path, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    flags = (f"--input_file={small_text}", f"--output_file={path}", "--vocab_size=9000")
    warning = "instead of --vocab_size=9000: no further pair of pieces occurs at least --min_freq"
    assert warning in run(checkout, *flags).stderr
    assert path.exists()


def test_keeps_an_existing_file(checkout: Path, small_text: Path, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("precious\n", encoding="utf-8")
    flags = (f"--input_file={small_text}", f"--output_file={path}", "--vocab_size=60")
    refused = run(checkout, *flags)
    assert refused.returncode == 1
    assert refused.stderr == (
        f"train_vocab: error: {path}: exists already (--overwrite replaces it)\n"
    )
    assert path.read_text(encoding="utf-8") == "precious\n"
    assert run(checkout, *flags, "--overwrite").returncode == 0
    assert path.read_text(encoding="utf-8").startswith("[PAD]\n")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ((), "--input_file is missing: name the text to train on"),
        (("--input_file=no/such*.txt",), "no file matches 'no/such*.txt'"),
        (("--input_file=README.md", "--vocab_size=4"), "--vocab_size is 4; 6 to 10,000,000"),
    ],
)
def test_mistakes_are_told_in_one_line(
    checkout: Path, tmp_path: Path, flags: tuple[str, ...], sentence: str
) -> None:
    folder = tmp_path / "output"
    (tmp_path / "README.md").write_text("text\n", encoding="utf-8")
    flags = tuple(flag.replace("README.md", str(tmp_path / "README.md")) for flag in flags)
    result = run(checkout, *flags, f"--output_file={folder}/vocab.txt")
    assert result.returncode == 1
    assert result.stderr.startswith(f"train_vocab: error: {sentence}")
    assert result.stderr.count("\n") == 1
    assert not folder.exists()
