"""Kills workers that train by a recipe, and goes on with others, until the recipe ends.

    python -m benchmarks.train_kills --kills=20

One to three workers of `run_pretraining.py --recipe`, processes on this machine, are killed at once
by SIGKILL, some time after a step that is drawn. The next ones go on from the last checkpoint: with
another number of workers, and with batches of another size in the stages that have not begun. In
the end the losses of all steps are those of one worker that trains by the last recipe without a
pause, but for the order of sums.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.training.checkpoints import Checkpoint, latest_checkpoint
from tests.forking import TENSORFLOW_MODULES, Program, Programs
from tests.recipes.stores import write_recipe
from tests.training.test_distribution import free_ports
from tests.training.tiny import tiny_config

CHECKOUT = Path(__file__).resolve().parent.parent
MOST_WORKERS, TOLERANCE = 3, 1e-3
STAGES = (
    "tokens: 900, max_seq_length: 24, objective: none, batching: plain",
    "tokens: 1500, max_seq_length: 32, batching: packed",
    "steps: 8, batching: buckets, num_buckets: 2, masking: {rate: 0.3}",
    "tokens: 1200, batching: packed, mixture: {wiki: 1}",
    "tokens: 700, objective: tokens, batching: plain",
)


def start(
    programs: Programs, folder: Path, output: str, num_workers: int, *, last_step: int = 0
) -> list[Program]:
    """Start workers that train together."""
    command = [
        "run_pretraining.py", "--do_train", f"--recipe={folder}/r.yaml",
        f"--bert_config_file={folder}/bert.json", f"--output_dir={folder}/{output}",
        "--num_schedule_steps=1000", "--num_warmup_steps=2", "--learning_rate=0.003",
        "--log_every_steps=1", "--save_checkpoints_steps=2", *(
            [f"--num_train_steps={last_step}"] if last_step else []
        ),
    ]  # fmt: skip
    if num_workers == 1:
        return [programs.start(command, cwd=CHECKOUT)]
    workers = [f"127.0.0.1:{port}" for port in free_ports(num_workers)]
    started = []
    for index in range(num_workers):
        task = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        own = [*command, "--distribution=multi_worker"]
        environment = {**os.environ, "TF_CONFIG": json.dumps(task)}
        started.append(programs.start(own, cwd=CHECKOUT, env=environment))
    return started


def kill_after(programs: list[Program], steps: int, seconds: float) -> bool:
    """Kill workers some seconds after so many steps; return whether they had ended by then."""
    seen: list[str] = []
    log = itertools.takewhile(bool, iter(programs[0].stderr.readline, ""))
    for line in log:
        seen.append(line)
        if re.search(r"\] step \d+/", line) and not steps:
            break
        steps -= "] step " in line
    else:
        statuses = [program.wait() for program in programs]
        assert set(statuses) == {0}, "".join(seen)
        return True
    with contextlib.suppress(subprocess.TimeoutExpired):
        programs[0].wait(seconds)
    for program in programs:
        program.kill()
    for program in programs:
        program.wait()
    return False


def write(folder: Path, sizes: list[int]) -> Recipe:
    """Write the recipe with these sizes of batches."""
    lines = (
        f"  - {{{stage}, batch_size: {size}}}\n" for stage, size in zip(STAGES, sizes, strict=True)
    )
    return Recipe.from_file(write_recipe(folder, "".join(lines), 40))


def losses(folder: Path) -> dict[int, float]:
    """The loss of each step."""
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return {line["step"]: line["loss"] for line in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    drawn, kills, steps, other_sizes, num_runs = random.Random(options.seed), 0, 0, 0, 0
    programs = Programs(CHECKOUT, TENSORFLOW_MODULES)
    config = tiny_config(num_hidden_layers=1, vocab_size=1000, max_position_embeddings=32)
    while kills < options.kills:
        num_runs += 1
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "bert.json").write_text(config.to_json())
            sizes = [drawn.randint(2, 9) for _ in STAGES]
            recipe = write(folder, sizes)
            while True:
                workers = start(programs, folder, "killed", drawn.randint(1, MOST_WORKERS))
                if kill_after(workers, drawn.randint(0, 16), drawn.random() * 0.3):
                    break
                kills += 1
                print(f"{kills} kills", file=sys.stderr, flush=True)
                if latest_checkpoint(str(folder / "killed")) is None:
                    continue
                saved = json.loads(bytes(Checkpoint(str(folder / "killed")).read(
                    "global_step/recipe_place"
                )))  # fmt: skip
                begun = Run(recipe).stage_of(saved["window"]).number + 1
                sizes = [*sizes[:begun], *(drawn.randint(2, 9) for _ in sizes[begun:])]
                other_sizes += begun < len(sizes)
                recipe = write(folder, sizes)
            assert kill_after(start(programs, folder, "straight", 1), 10**9, 0.0)
            found, expected = losses(folder / "killed"), losses(folder / "straight")
            assert found.keys() == expected.keys(), (found, expected)
            for step, loss in expected.items():
                assert abs(found[step] - loss) <= TOLERANCE * loss, f"{step}: {found} {expected}"
            steps += len(found)
    programs.close()
    print(
        f"{kills} kills of {num_runs} trainings by a recipe of five stages, with one to three"
        f" workers: all {steps} losses were those of one worker without a pause. The size of"
        f" batches to come changed {other_sizes} times."
    )


if __name__ == "__main__":
    main()
