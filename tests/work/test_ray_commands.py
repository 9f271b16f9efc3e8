"""Commands on clusters: the same bytes as on this machine, whatever dies; what is resumed."""

import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bert_data.curation.running import stages
from bert_data.curation.running.pipeline import Pipeline, label_steps
from bert_data.curation.running.pipeline_file import parse_inputs, parse_steps
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.run import run_pipeline
from bert_data.gpt import GptConfig, GptDataset
from bert_data.gpt.export import export_splits
from bert_data.gpt.gpt_config import SampleExportConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.vocabulary_config import (
    BPE,
    MODELS,
    UNIGRAM,
    WORDPIECE,
    VocabularyTrainingConfig,
)
from bert_data.tokens.vocabulary_training import write_vocabulary
from bert_data.work import THIS_MACHINE, Engine, rounds
from bert_data.work.engine import Ray, Slurm
from bert_data.work.ray_cluster import connected
from tests.conftest import RAY_NODE
from tests.work.cluster_items import SECONDS, wait_for_ends, wait_until

pytestmark = [pytest.mark.process, pytest.mark.slow]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def connection(ray_cluster):
    """A connection of this process, whose workers stay from one test to the next."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(connected(ray_cluster.address, 0))
        yield stack


@pytest.fixture
def in_turn(request, tmp_path, monkeypatch):
    """Runs a function in a folder, on this machine and on a cluster; returns the same files."""
    engines: list[Engine] = [THIS_MACHINE, Slurm(tasks_per_job=2)]
    if getattr(request, "param", "ray") == "ray":
        request.getfixturevalue("connection")
        engines[1] = Ray(ray_address=request.getfixturevalue("ray_cluster").address)
    else:
        request.getfixturevalue("slurm_cluster")

    def run(make: Callable[[Engine], object]) -> dict[str, bytes]:
        contents = []
        for engine in engines:
            folder = tmp_path / engine.name / "out"
            folder.mkdir(parents=True)
            monkeypatch.chdir(folder.parent)  # paths are relative, and the same
            make(engine)
            contents.append(files_of(folder))
        local, on_cluster = contents
        assert on_cluster == local
        return local

    return run


@pytest.mark.parametrize("in_turn", ["ray", "slurm"], indirect=True)
def test_stores_and_samples_are_the_same(in_turn, small_text, small_vocabulary):
    def make(engine: Engine) -> None:
        stores = make_stores(
            StoreConfig(
                input_file=str(small_text),
                output_prefix="out/tokens",
                vocab_file=str(small_vocabulary),
                num_partitions=2,
                num_workers=engine.count_workers(1),
                engine=engine,
            )
        )
        dataset = GptDataset(stores[0].prefix, GptConfig(seq_length=16))
        config = SampleExportConfig(output_file="out/gpt@2", num_workers=1, engine=engine)
        export_splits([dataset], config)

    local = in_turn(make)
    assert len(local) == 2 * 4 + 2 * 2 + 1


@pytest.mark.parametrize("model", MODELS)
def test_vocabularies_are_the_same(in_turn, small_text, model):
    size = 300 if model == BPE else 90

    def make(engine: Engine) -> None:
        config = VocabularyTrainingConfig(
            input_files=(str(small_text),),
            vocab_size=size,
            model=model,
            engine=engine,
            num_workers=engine.count_workers(1),
            work_dir="out/.work",
        )
        trained = write_vocabulary(config, "out/vocab.txt", overwrite=False)
        if model == UNIGRAM:  # its scores differ in the last digits, also of two runs here
            Path("out/tokenizer.json").write_text("\n".join(sorted(trained.tokens)))

    local = in_turn(make)
    assert len(local) == (3 if model == WORDPIECE else 2)


@pytest.mark.parametrize("in_turn", ["ray", "slurm"], indirect=True)
def test_sets_are_the_same(in_turn, small_text, small_vocabulary):
    text = small_text.read_bytes()
    compressed = gzip.compress(text, mtime=0)

    def make(engine: Engine) -> None:
        Path("a.txt").write_bytes(text)
        Path("b.txt.gz").write_bytes(compressed)  # whose first document began in the other file
        create_dataset(
            DatasetConfig(
                input_file="a.txt,b.txt.gz",
                output_file="out/set@2",
                vocab_file=str(small_vocabulary),
                num_partitions=2,
                num_workers=engine.count_workers(1),
                engine=engine,
            )
        )

    local = in_turn(make)
    assert len(local) == 2 * 2 + 1


def test_sets_of_byte_level_bpe_are_the_same(in_turn, tmp_path, small_text):
    path, text = str(tmp_path / "tokenizer.json"), str(small_text)
    bpe = VocabularyTrainingConfig(input_files=(text,), vocab_size=300, model=BPE, work_dir="words")
    write_vocabulary(bpe, path, overwrite=False)

    def make(engine: Engine) -> None:
        create_dataset(
            DatasetConfig(
                input_file=text,
                output_file="out/set@2",
                tokenizer_file=path,
                num_partitions=2,
                num_workers=engine.count_workers(1),
                engine=engine,
            )
        )

    local = in_turn(make)
    assert len(local) == 2 * 2 + 1


def test_curated_files_are_the_same_though_a_node_is_killed(ray_cluster, in_turn, small_text):
    texts = small_text.read_text(encoding="utf-8").split("\n\n")
    rows = [json.dumps({"text": text}) + "\n" for text in [*texts, *texts[:9]] * 6]

    def make(engine: Engine) -> None:
        Path("in.jsonl").write_text("".join(rows), encoding="utf-8")
        pipeline = Pipeline(
            data_sets=tuple(parse_inputs(["in.jsonl"], TextConfig(), None)),
            steps=label_steps(parse_steps(["exact_duplicates"])),
            output=Output(files="out/clean.jsonl@2", rejected_file="out/no.jsonl.gz@2"),
            shard_mb=0.02,
        )
        if isinstance(engine, Ray):
            killer.start()
        run_pipeline(pipeline, num_workers=engine.count_workers(1), engine=engine)

    node = ray_cluster.add_node(**RAY_NODE)
    raylet = node.all_processes["raylet"][0].process.pid

    def kill() -> None:
        wait_until(lambda: [*Path.cwd().glob("out/.*/*/pass-0/000*")])
        os.kill(raylet, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    local = in_turn(make)
    killer.join()
    ray_cluster.remove_node(node, allow_graceful=False)
    assert len(local) == 2 + 2 + 2 + 1


def test_decisions_in_rounds_are_the_same(in_turn, small_text, monkeypatch):
    texts = small_text.read_text(encoding="utf-8").split("\n\n")
    rows = [{"text": f"{text} {texts[i % 7]} {i}"} for i, text in enumerate([*texts, *texts])]
    monkeypatch.setattr(stages, "ONE_TASK_SHARE", 10**12)
    monkeypatch.setattr(rounds, "PROCESS_BYTES", 0)
    monkeypatch.setattr(rounds, "MIN_TASK_BYTES", 60_000)

    def make(engine: Engine) -> None:
        Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        pipeline = Pipeline(
            data_sets=tuple(parse_inputs(["in.jsonl"], TextConfig(), None)),
            steps=label_steps(parse_steps(["near_duplicates"])),
            output=Output(files="out/clean.jsonl"),
            shard_mb=0.04,
        )
        done = run_pipeline(pipeline, num_workers=engine.count_workers(1), engine=engine)
        assert done.counts[1].num_words < 0.9 * done.counts[0].num_words

    local = in_turn(make)
    assert len(local) == 3


PROGRAM = """
import os
from pathlib import Path
from bert_data.cli import entry, shared_flags
from bert_data.work import FolderTask, open_executor, open_work_folder, run_tasks
from tests.work.cluster_items import wait_until

class Number(int):
    @property
    def task_name(self):
        return str(int(self))

def work(number, folder):
    begun = Path(f"begun-{number}-{os.getpid()}")
    begun.touch()
    if number >= 2:
        wait_until(Path("go").exists)
    return 2 * number

SECTIONS = (shared_flags.ENGINE,)

def main(argv):
    with open_work_folder("work", "run", is_own=True) as root:
        with open_executor(0, engine=shared_flags.engine_of_flags(), folder=root) as executor:
            task = FolderTask(parent=os.path.join(root, "doubled"), function=work)
            done = run_tasks("doubling", task, [*map(Number, range(6))], executor)
            reports = [made.report for made, _ in done]
    print(*reports)

if __name__ == "__main__":
    entry.run(main)
"""


@pytest.fixture
def command(checkout, ray_folder, tmp_path):
    """Starts a command whose tasks 0 and 1 end at once, and the others when there is a file."""
    (tmp_path / "program.py").write_text(PROGRAM)
    started: list[subprocess.Popen[str]] = []

    def start(address: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "program.py", "--engine=ray", f"--ray_address={address}"],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(checkout),
                "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_ctrl_c_ends_the_tasks(ray_cluster, command, tmp_path):
    process = command(ray_cluster.address)
    wait_until(lambda: len([*tmp_path.glob("begun-*")]) >= 4, folder=tmp_path)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 130, stderr
    assert stderr.endswith("program: error: stopped by SIGINT\n")
    tasks = [int(path.name.split("-")[2]) for path in tmp_path.glob("begun-[2-9]-*")]
    wait_for_ends(tasks)


def test_what_was_done_when_the_head_was_lost_is_not_done_again(
    ray_cluster, connection, command, tmp_path
):
    """The last test of this cluster."""
    connection.close()  # Ray ends a process whose connection has lost its head
    process = command(ray_cluster.address)
    wait_until(lambda: len([*tmp_path.glob("begun-*")]) >= 4, folder=tmp_path)
    ray_cluster.head_node.all_processes["gcs_server"][0].process.kill()
    _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert (
        "if its head is lost, this command ends within 5 s, and the same command resumes" in stderr
    )
    (tmp_path / "go").touch()
    process = command("local")
    stdout, stderr = process.communicate(timeout=SECONDS)
    assert (process.returncode, stdout) == (0, "0 2 4 6 8 10\n"), stderr
    # Nodes go on with what they have begun.
    assert re.search("doubling: [2-6] of 6 were done by an earlier run", stderr)
    assert len([*tmp_path.glob("begun-0-*")]) == 1
