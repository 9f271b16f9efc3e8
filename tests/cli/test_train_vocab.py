"""The command that makes a vocabulary, as a user types it."""

import json
import os
import random
import signal
import string
import subprocess
import sys

import pytest
from tokenizers import Tokenizer

from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import load_tokenizer

pytestmark = pytest.mark.process


def test_the_same_text_gives_the_same_bytes_in_every_process(checkout, tmp_path):
    # All six-letter words once: nearly every count is a tie.
    text = tmp_path / "text.txt"
    words = [f"{a}{b}{c}{a}{c}{b}" for a in "abcdefg" for b in "hijklmn" for c in "opqrstu"]
    text.write_text("\n".join(words), encoding="utf-8")
    vocabularies = []
    for seed in ("1", "2"):
        path = tmp_path / f"vocab{seed}.txt"
        flags = (f"--input_file={text}", "--vocab_size=150", f"--output_file={path}")
        command = [sys.executable, "-m", "bert_data.cli.train_vocab", *flags]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(command, cwd=checkout, env=environment, capture_output=True, check=True)
        vocabularies.append((path.read_bytes(), path.with_suffix(".tokenizer.json").read_bytes()))
    assert vocabularies[0][0].count(b"\n") == 150
    assert vocabularies[0] == vocabularies[1]


def test_says_what_it_made(commands, small_text, tmp_path):
    path = tmp_path / "new" / "vocab.txt"
    flags = (f"--input_file={small_text}", "--vocab_size=60", f"--output_file={path}")
    assert f"{path}: 60 tokens from " in commands.well("train_vocab", *flags).stderr
    assert path.read_text(encoding="utf-8").splitlines()[:2] == ["[PAD]", "[UNK]"]
    names = {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}
    assert {p.name for p in path.parent.iterdir()} == names


def test_both_files_mean_the_same(commands, small_text, tmp_path):
    rows = [{"body": text} for text in small_text.read_text(encoding="utf-8").split("\n\n")]
    text = tmp_path / "text.jsonl"
    text.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    flags = (f"--input_file={text}", "--text_field=body", "--vocab_size=60")
    for lower in (True, False):
        path = tmp_path / f"{lower}.txt"
        case = f"--do_lower_case={lower}"
        commands.well("train_vocab", *flags, f"--output_file={path}", case)
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


def test_a_cased_vocabulary_is_for_cased_text(commands, small_text, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(small_text.read_text(encoding="utf-8").title(), encoding="utf-8")
    commands.well("train_vocab", f"--input_file={text}", "--vocab_size=60", "--nodo_lower_case")
    files = (f"--input_file={text}", "--vocab_file=vocab.txt")
    for command, output in (("create", "--output_file=train"), ("tokenize", "--output_prefix=s")):
        said = commands.error(command, *files, output)
        assert "cannot occur" in said and ": set --nodo_lower_case to keep case" in said
        assert ", or --do_lower_case to lower-case the text nevertheless" in said
        for case in ("--do_lower_case", "--do_lower_case=false"):
            commands.well(command, *files, output, case, "--overwrite")
    manifest = json.loads((commands.folder / "manifest.train.json").read_text())
    assert manifest["flags"]["do_lower_case"] is False


def test_says_when_the_text_is_too_small(commands, small_text):
    said = commands.well("train_vocab", f"--input_file={small_text}", "--vocab_size=9000").stderr
    warning = "instead of --vocab_size=9000: no further pair of pieces occurs at least --min_freq"
    assert warning in said
    assert (commands.folder / "vocab.txt").exists()


def test_keeps_an_existing_file(commands, small_text, tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("precious\n", encoding="utf-8")
    flags = (f"--input_file={small_text}", "--vocab_size=60")
    sentence = "vocab.txt: exists already (--overwrite replaces it)"
    assert commands.error("train_vocab", *flags) == sentence
    commands.well("train_vocab", *flags, "--overwrite")
    assert path.read_text(encoding="utf-8").startswith("[PAD]\n")


def test_mistakes_are_told_in_one_line(commands):
    flags = ("--input_file=no/such*.txt", "--output_file=output/vocab.txt")
    assert commands.error("train_vocab", *flags) == "no file matches 'no/such*.txt'"


@pytest.mark.parametrize(
    ("model", "number"),
    [("bpe", signal.SIGTERM), ("unigram", signal.SIGINT), ("wordpiece", signal.SIGTERM)],
)
def test_is_stopped_while_it_trains(checkout, tmp_path, model, number):
    """Random letters in long words keep the training busy."""
    draw = random.Random(1)
    words = ("".join(draw.choices(string.ascii_lowercase, k=400)) for _ in range(2500))
    (tmp_path / "text.txt").write_text("\n".join(words))
    flags = ("--input_file=text.txt", f"--model={model}", "--vocab_size=30000")
    with subprocess.Popen(
        [sys.executable, "-m", "bert_data.cli.train_vocab", *flags],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert any(f"training {model} until" in line for line in process.stderr)
        process.send_signal(number)
        rest = process.stderr.read()  # ends when the process that trains has gone, too
    assert rest.endswith(f"train_vocab: error: stopped by {number.name}\n")
    assert process.returncode == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
