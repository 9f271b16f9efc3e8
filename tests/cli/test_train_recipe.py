"""`bert-data train --recipe`: what it does, how it goes on after a kill, what it refuses."""

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from bert_data.recipes.recipe import Recipe
from bert_data.recipes.run_batches import iterate_recipe_arrays
from tests.forking import Program, Programs
from tests.recipes.stores import many_documents, write_sentences, write_vocabulary
from tests.training.tiny import random_batch, signal_at, tiny_config, write_records

pytestmark = pytest.mark.process

RECIPE = """
seed: 3
vocab_file: {folder}/vocab.txt
stores: {{a: {folder}/a, b: {folder}/b}}
stages:
  - steps: 6
    max_seq_length: 24
    batch_size: 5
    masking: {{rate: {{from: 0.4, to: 0.2}}}}
  - steps: 8
    max_seq_length: 32
    batching: packed
    mixture: {{a: 1, b: 2}}
skip: [[2, 3]]
shuffle_block: 8
shuffle_window: 32
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_vocabulary(folder)
    for seed, name in enumerate("ab"):
        write_sentences(folder / name, many_documents(seed))
    (folder / "recipe.yaml").write_text(RECIPE.format(folder=folder))
    sizes = {"num_hidden_layers": 1, "vocab_size": 1000, "hidden_dropout_prob": 0.1}
    for length in (32, 31):
        config = tiny_config(**sizes, max_position_embeddings=length)
        (folder / f"bert{length}.json").write_text(config.to_json())
    write_records(str(folder / "held-out"), random_batch(num_examples=8))
    return folder


Start = Callable[..., Program]


@pytest.fixture
def start(checkout: Path, data: Path, tensorflow_programs: Programs) -> Start:
    """Starts the command: (output folder, more flags)."""

    def start(output: Path, *more: str) -> Program:
        command = [
            "-m", "bert_data.cli.train", f"--bert_config_file={data}/bert32.json",
            f"--recipe={data}/recipe.yaml", f"--output_dir={output}",
            "--num_warmup_steps=2", "--learning_rate=0.01", "--log_every_steps=1",
            "--save_checkpoints_steps=1", *more,
        ]  # fmt: skip
        return tensorflow_programs.start(command, cwd=checkout)

    return start


def losses_of(process: Program) -> dict[int, float]:
    """Step -> its loss in the log of a run that ends well."""
    log = process.communicate(timeout=600)[1]
    assert process.returncode == 0, log
    assert "0000 00:00:" not in log  # TensorFlow's remarks about itself
    return {int(n): float(loss) for n, loss in re.findall(r"\nstep (\d+)/\d+  loss (\S+)", log)}


def test_killed_it_reads_on_also_on_more_devices(start: Start, data: Path, tmp_path: Path) -> None:
    expected = losses_of(start(tmp_path / "a"))
    recipe = Recipe.from_file(data / "recipe.yaml")
    assert [*expected] == list(range(1, len(list(iterate_recipe_arrays(recipe))) + 1))
    killed = start(tmp_path / "b")
    signal_at(killed, "step 6/", signal.SIGKILL)
    killed.communicate(timeout=600)
    assert killed.returncode == -signal.SIGKILL
    last = max(int(p.stem.split("-")[1]) for p in tmp_path.glob("b/model.ckpt-*.index"))
    rest = losses_of(start(tmp_path / "b", "--num_cpu_devices=2", "--distribution=mirrored"))
    assert [*rest] == [*range(last + 1, len(expected) + 1)]
    # Devices draw their own dropout, and sums of several are rounded otherwise.
    for step, loss in rest.items():
        assert loss == pytest.approx(expected[step], rel=0.05)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--input_file=x", "--batching=pools", "--train_batch_size=32"],
         "--recipe says what is read, and how: leave out --input_file and --train_batch_size and"
         " --batching"),
        (["--vocab_file=v"], "--recipe says what is read, and how: leave out --vocab_file"),
        (["--bert_config_file={data}/bert31.json"],
         "stage 2 of the recipe has max_seq_length 32, but the model reads up to"
         " max_position_embeddings = 31 tokens"),
        (["--do_eval"], "--do_eval needs --eval_input_file, records to evaluate on, with --recipe"),
        (["--do_eval", "--eval_input_file={data}/held-out"],
         "the recipe has objective none, but the held-out records {data}/held-out were made with"
         " next_sentence nsp"),
        (["--recipe={data}/none.yaml"], "{data}/none.yaml: "),
        (["--nodo_train"], "nothing to do: --nodo_train is set, and --do_eval is not"),
        (["--recipe="], "there is nothing to read: set --input_file or --recipe"),
        (["--num_accumulation_steps=99"], "the recipe has "),
    ],
)  # fmt: skip
def test_one_sentence_and_a_status(
    start: Start, data: Path, tmp_path: Path, flags: list[str], sentence: str
) -> None:
    output = tmp_path / "out"
    process = start(output, *(flag.format(data=data) for flag in flags))
    log = process.communicate(timeout=600)[1]
    assert process.returncode == 1, log
    told = [line for line in log.splitlines() if line.startswith("train: error: ")]
    assert len(told) == 1 and told[0].startswith("train: error: " + sentence.format(data=data)), log
    assert "Traceback" not in log
    assert not output.exists()
