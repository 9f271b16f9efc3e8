"""The command: what it writes, how it goes on after a kill, what it refuses."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bert_data.kernels.crc32c import crc32c
from bert_data.records.sets.manifest import Manifest, ManifestFile, manifest_path
from bert_data.tokens.vocabulary import VocabularyNote
from tests.forking import Program, Programs
from tests.object_store import ObjectStore
from tests.training.tiny import (
    VOCAB_SIZE,
    random_batch,
    signal_at,
    tiny_config,
    write_both,
    write_records,
)

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_both(folder, random_batch(num_examples=40))
    config = tiny_config(
        num_hidden_layers=1, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1
    )
    (folder / "bert.json").write_text(config.to_json())
    (folder / "small.json").write_text(tiny_config(vocab_size=7).to_json())
    return folder


Start = Callable[..., Program]


def command_of(data: Path, output: Path, *more: str) -> list[str]:
    return [
        "run_pretraining.py",
        f"--bert_config_file={data}/bert.json", f"--input_file={data}/r.tfrecord",
        f"--output_dir={output}", "--max_seq_length=9", "--max_predictions_per_seq=3",
        "--train_batch_size=8", "--num_train_steps=30", "--num_warmup_steps=2",
        "--learning_rate=0.01", "--log_every_steps=1", "--save_checkpoints_steps=7", *more,
    ]  # fmt: skip


@pytest.fixture
def start(checkout: Path, data: Path, tensorflow_programs: Programs) -> Start:
    """Starts the command: (output folder, more flags, the step at which it is killed)."""

    def begin(output: Path, *more: str, dies_at: int | None = None) -> Program:
        command = command_of(data, output, *more)
        if dies_at is not None:
            command[:1] = ["tests/training/dying_run.py", str(dies_at)]
        return tensorflow_programs.start(command, cwd=checkout)

    return begin


def losses_by_step(log: str) -> dict[int, str]:
    """Step -> what the log says about its losses."""
    lines = [line[5:] for line in log.splitlines() if line.startswith("step ")]
    return {int(line.split("/")[0]): line.split("  lr ")[0] for line in lines}


def test_preempted_it_saves_at_once_and_says_so(start: Start, tmp_path: Path) -> None:
    """In the middle of a call of the graph, and without the evaluation that would follow."""
    steps = ("--num_train_steps=200000", "--log_every_steps=1000", "--save_checkpoints_steps=99999")
    process = start(tmp_path, "--do_train", "--do_eval", "--iterations_per_loop=99999", *steps)
    signal_at(process, "step 1000/", signal.SIGTERM)
    log = process.communicate(timeout=600)[1]
    assert process.returncode == 128 + signal.SIGTERM, log
    assert log.splitlines()[-1] == "run_pretraining: error: stopped by SIGTERM"
    (index,) = tmp_path.glob("model.ckpt-*.index")
    step = int(index.stem.removeprefix("model.ckpt-"))
    assert step > 1000 and step % 1000
    assert f"\nstep {step}/200000  loss" in log
    assert f"saved {tmp_path}/model.ckpt-{step}" in log
    assert not (tmp_path / "eval_results.txt").exists()


def write_data(folder: Path, seed: int, max_predictions_per_seq: int = 3) -> None:
    """Records of one size, whatever the seed, and their manifest."""
    path = folder / "r.tfrecord"
    write_records(str(path), random_batch(num_examples=40, seed=seed))
    data = path.read_bytes()
    manifest = Manifest(
        record_layout="reference",
        compression="none",
        max_seq_length=9,
        max_predictions_per_seq=max_predictions_per_seq,
        random_seed=seed,
        vocabulary=VocabularyNote(
            size=VOCAB_SIZE, sha256=hashlib.sha256(b"a vocabulary").hexdigest()
        ),
        flags={},
        counts={},
        files=(
            ManifestFile(name=path.name, num_records=40, num_bytes=len(data), crc32c=crc32c(data)),
        ),
    )
    Path(manifest_path(str(path))).write_text(manifest.to_json())


def test_records_without_tokens_to_predict_are_refused(start: Start, tmp_path: Path) -> None:
    write_data(tmp_path, seed=1, max_predictions_per_seq=0)
    process = start(tmp_path / "out", "--do_train", f"--input_file={tmp_path}/r.tfrecord")
    log = process.communicate(timeout=600)[1]
    assert process.returncode == 1, log
    assert "r.tfrecord have no tokens to predict" in log
    assert "bert-data tokenize) and train by a --recipe" in log
    assert not (tmp_path / "out").exists()


def test_other_records_of_the_same_name_are_read_from_their_beginning(
    start: Start, checkout: Path, tmp_path: Path
) -> None:
    def train(num_steps: int, *more: str) -> str:
        process = start(
            tmp_path / "out", "--do_train", f"--num_train_steps={num_steps}",
            f"--input_file={tmp_path}/r.tfrecord", "--random_seed=-5", *more,
        )  # fmt: skip
        log = process.communicate(timeout=600)[1]
        assert process.returncode == 0, log
        return log

    write_data(tmp_path, seed=1)
    (tmp_path / "vocab.txt").write_bytes(b"a vocabulary")
    log = train(
        4, f"--input_file={os.path.relpath(tmp_path, checkout)}/r.tf*", "--width=max",
        f"--vocab_file={tmp_path}/vocab.txt", "--skip_corrupt", "--max_seq_length=10",
    )  # fmt: skip
    (told,) = [line for line in log.splitlines() if "manifest says" in line]
    assert told.endswith("r.tf*: max_seq_length is 10, though their manifest says 9")
    write_data(tmp_path, seed=2)
    log = train(6)
    assert "continuing from" in log and "manifest says" not in log
    assert "reading starts at the beginning (shard 0 was r.tfrecord: 40 records, crc32c 0x" in log


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--do_train", "--bert_config_file={data}/small.json"],
         "vocab_size is 7, but a record of {data}/r.tfrecord holds the token id 10"),
        (["--do_train", "--max_seq_length=11"],
         "--max_seq_length is 11, but the model of {data}/bert.json reads up to"
         " max_position_embeddings = 10 tokens"),
        (["--do_train", "--max_seq_length=8"], "--max_seq_length is 8, but"),
        (["--do_train", "--bert_config_file=tinny"],
         "--bert_config_file is 'tinny'; there is no such file, and it is none of tiny, mini"),
        (["--do_train", "--output_dir={data}/bert.json"], "{data}/bert.json: is not a folder"),
        (["--do_train", "--input_file={data}/none*"], "no file matches '{data}/none*'"),
        ([], "at least one of --do_train and --do_eval must be true"),
        (["--do_eval", "--eval_every_steps=5"],
         "--eval_every_steps needs --do_train; --do_eval evaluates once"),
        (["--do_train", "--eval_every_steps=5"], "--eval_every_steps needs --eval_input_file"),
        (["--do_train", "--eval_input_file=a"], "--eval_input_file needs --do_eval or --eval"),
        (["--do_train", "--vocab_file=v", "--tokenizer_file=t"],
         "--vocab_file and --tokenizer_file are both set; choose one"),
    ],
)  # fmt: skip
def test_one_sentence_and_a_status(
    start: Start, data: Path, tmp_path: Path, flags: list[str], sentence: str
) -> None:
    output = tmp_path / "out"
    places = {"data": data, "output": output}
    process = start(output, *(flag.format(**places) for flag in flags))
    log = process.communicate(timeout=600)[1]
    assert process.returncode == 1, log
    told = [line for line in log.splitlines() if line.startswith("run_pretraining: error: ")]
    assert len(told) == 1 and told[0].startswith(
        "run_pretraining: error: " + sentence.format(**places)
    ), log
    assert "Traceback" not in log
    assert not list(output.glob("model.ckpt*"))


def test_tensorflows_remarks_about_itself_are_not_seen(
    checkout: Path, data: Path, tmp_path: Path
) -> None:
    """Of a process that imports it."""
    command = [sys.executable, *command_of(data, tmp_path, "--do_eval")]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    sentence = f"--output_dir={tmp_path} has no checkpoint to evaluate; train first"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == f"run_pretraining: error: {sentence}"
    assert "0000 00:00:" not in done.stderr


@pytest.mark.slow
def test_a_run_in_a_bucket_is_that_of_local_files(
    start: Start, data: Path, tmp_path: Path, object_store: ObjectStore
) -> None:
    """Shards, configuration, checkpoints, curves and results; killed, it goes on from there."""
    for name in ("r.tfrecord", "bert.json"):
        object_store.put(f"in/{name}", (data / name).read_bytes())
    settings = ("--do_train", "--do_eval", "--batching=packed", "--width=20")
    local = start(tmp_path / "out", *settings, f"--input_file={data}/r.tfrecord")
    log = local.communicate(timeout=600)[1]
    assert local.returncode == 0, log
    assert "evaluating on the records of --input_file, which training reads" in log
    expected = losses_by_step(log)
    assert sorted(expected) == list(range(1, 31))

    uri, remote = object_store.uri("in"), object_store.uri("out")
    flags = (
        f"--input_file={uri}/r.tf*", f"--bert_config_file={uri}/bert.json",
        f"--output_dir={remote}", *settings,
    )  # fmt: skip
    first = start(tmp_path / "unused", *flags, dies_at=17)
    first.communicate(timeout=600)
    assert first.returncode == -signal.SIGKILL
    again = start(tmp_path / "unused", *flags)
    log = again.communicate(timeout=600)[1]
    assert again.returncode == 0, log
    later = losses_by_step(log)
    assert f"continuing from {remote}/model.ckpt-" in log and min(later) == 15
    assert later == {step: expected[step] for step in later}

    contents = object_store.contents("out/")
    results = (tmp_path / "out" / "eval_results.txt").read_text()
    assert contents["eval_results.txt"].decode() == results
    assert [line.split(" = ")[0] for line in results.splitlines()] == [
        "global_step", "loss", "masked_lm_accuracy", "masked_lm_loss", "next_sentence_accuracy",
        "next_sentence_loss",
    ]  # fmt: skip
    assert results.startswith("global_step = 30\n")
    assert contents["checkpoint"] == (tmp_path / "out" / "checkpoint").read_bytes()
    for name in ("model.ckpt-30.index", "model.ckpt-30.data-00000-of-00001"):
        assert contents[name] == (tmp_path / "out" / name).read_bytes()
    assert sum(name.startswith("events.") for name in contents) == 2
    metrics = [json.loads(line) for line in contents["metrics.jsonl"].splitlines()]
    assert [line["step"] for line in metrics] == list(range(1, 31))
    assert any(name.startswith("eval/events.") for name in contents)
    assert not (tmp_path / "unused").exists()
