"""The command that trains a classifier, as a user types it, and the step that applies its model."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


@pytest.fixture
def run(checkout, tmp_path):
    def run(command, *flags):
        arguments = [sys.executable, "-m", "bert_data", command, *flags]
        return subprocess.run(
            arguments, cwd=tmp_path, capture_output=True, text=True, check=False,
            env={"PYTHONPATH": str(checkout), "HOME": str(tmp_path)},
        )  # fmt: skip

    return run


@pytest.fixture
def texts(tmp_path):
    """good.jsonl, bad-0.txt and bad-1.txt, and both kinds in all.jsonl."""
    good = [f"We measure {n} samples with care." for n in range(40)]
    bad = [f"buy {n} cheap pills now" for n in range(40)]
    (tmp_path / "good.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in good))
    (tmp_path / "bad-0.txt").write_text("".join(f"{text}\n\n" for text in bad[:20]))
    (tmp_path / "bad-1.txt").write_text("".join(f"{text}\n\n" for text in bad[20:]))
    rows = [{"text": t, "kind": kind} for kind, each in enumerate((good, bad)) for t in each]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


SMALL = ("--buckets=500", "--dimension=8", "--epochs=25", "--learning_rate=0.5")
PAIR = ("--positive_file=good.jsonl", "--negative_file=bad-*.txt", "--output_file=m.bin")


@pytest.mark.usefixtures("texts")
def test_a_model_is_trained_and_applied(run, tmp_path):
    done = run("train-classifier", *PAIR, *SMALL, "--positive_label=hq")
    assert done.returncode == 0, done.stderr
    assert "texts: 40 hq, 40 negative" in done.stderr
    assert "\nhq             4      1.000   1.000  1.000\n" in done.stderr
    again = run("train-classifier", *PAIR, *SMALL)
    assert again.returncode == 1 and "m.bin" in again.stderr and "exists" in again.stderr
    done = run(
        "curate",
        "--input_file=web=all.jsonl",
        "--output_file=kept.jsonl",
        "--steps=classifier:model_file=m.bin,label=hq,min_score=0.5",
    )
    assert done.returncode == 0, done.stderr
    kept = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in kept] == [0] * 40


@pytest.mark.usefixtures("texts")
def test_labels_come_from_a_field_and_a_model_that_knows_nothing_is_told(run):
    done = run(
        "train-classifier", "--input_file=all.jsonl", "--label_field=kind", "--output_file=m.bin",
        "--buckets=500", "--epochs=1", "--learning_rate=0.001",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "texts: 40 0, 40 1" in done.stderr
    assert "the model has learned little: its mean loss is 0.693, and 0.693 without" in done.stderr


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (PAIR[:2], "--output_file is missing: name the model"),
        (PAIR[::2], "--negative_file is missing: name good texts by --positive_file"),
        ((*PAIR, "--input_file=all.jsonl"), "--input_file and --positive_file are both set"),
        (("--input_file=all.jsonl", PAIR[2]), "--label_field is missing"),
        ((*PAIR, "--label_field=kind"), "--label_field is set without --input_file"),
        ((*PAIR[1:], "--positive_file=none*"), "none*"),
        ((*PAIR, "--learning_rate=nan"), "learning_rate is nan; 1e-06 to 100 is allowed"),
    ],
)
def test_mistakes_are_one_sentence(run, tmp_path, flags, sentence):
    done = run("train-classifier", *flags)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and sentence in done.stderr
    assert not (tmp_path / "m.bin").exists()
