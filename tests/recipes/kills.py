"""Kills hosts that read a recipe, and reads on with others, until the recipe ends.

    python -m tests.recipes.kills --kills=1000 > benchmarks/results/kills.md

A run has one to five hosts, processes that are killed at once by SIGKILL, wherever they are. Each
has written down what it read and the place that it would have saved behind each batch. The next
ones begin at a place that all have saved: other numbers of hosts, other ways to read (among them
`bert_data.torch` with workers), and at the start of a stage batches of another size. In the end the
batches, put together, are those of one process that reads the last recipe without a pause, and
their sequences those of the definition. Hosts are forked, so that a start takes no time.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pickle
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bert_data.recipes.recipe import Ramp, Recipe, Stage, StageMasking
from bert_data.recipes.recipe_run import Place, Run
from bert_data.recipes.recipe_source import advance
from bert_data.recipes.run_batches import iterate_arrays, iterate_placed
from bert_data.recipes.saved_place import load_place, save_place
from tests.recipes.defined import Row, defined_rows, rows_of
from tests.recipes.stores import many_documents, recipe_of

ARRAYS, PLACED, TORCH = WAYS = ("arrays", "placed", "torch")
MOST_HOSTS, MOST_WORKERS, MOST_READ = 5, 3, 40
DOCUMENTS = {"a": many_documents(1, 90), "b": many_documents(2, 40)}
_FIRST = Stage(
    epochs={"a": 0.5}, max_seq_length=32, batch_size=5, pool_batches=4, mixture={"a": 2, "b": 1},
    masking=StageMasking(rate=0.3, num_sentinels=20),
)  # fmt: skip
_STAGES = (
    Stage(epochs={"b": 0.3}, batching="plain", objective="none", max_seq_length=32),
    Stage(tokens=1, batching="packed", objective="none", max_seq_length=48),
    Stage(tokens=1, batching="packed", objective="sop", masking=StageMasking(rule="spans")),
    Stage(tokens=1, batching="flat", objective="none", masking=StageMasking(rule="tokens")),
    Stage(tokens=1, batching="plain", objective="tokens", max_seq_length=24),
    Stage(tokens=1, batching="buckets", objective="nsp", num_buckets=3),
    Stage(tokens=1, batching="pools", objective="none", masking=StageMasking(whole_words=True)),
    Stage(tokens=1, batching="plain", objective="sop", masking=StageMasking(rule="ngrams")),
    Stage(tokens=1, batching="pools", objective="t5_spans", max_seq_length=32),
)
Saved = dict[str, Any]
Batch = tuple[Saved, list[Row]]


class Hosts(NamedTuple):
    """Processes that read together.

    Attributes:
      most: batches that they read before they wait for their end.
    """

    num_hosts: int
    way: str
    num_workers: int
    most: int


def read(recipe: Recipe, saved: Saved, hosts: Hosts, index: int) -> Iterator[Batch]:
    """Yield what a host reads, with what it would save behind each batch."""
    own = {"num_hosts": hosts.num_hosts, "host_index": index}
    if hosts.way == TORCH:
        from bert_data.torch import RecipeDataset

        loader = RecipeDataset(recipe, **own).loader(num_workers=hosts.num_workers)
        loader.load_state_dict(saved)
        for tensors in loader:
            batch = {name: values.numpy() for name, values in tensors.items()}
            yield loader.state_dict(), rows_of(batch)
        return
    run = Run(recipe)
    begin = load_place(run, saved)
    if hosts.way == PLACED:
        for place, batch in iterate_placed(run, begin, **own):
            after = Place(place.batch + 1, place.window, place.in_window + 1)
            yield save_place(run, after), rows_of(batch)
        return
    arrays = iterate_arrays(recipe, **own, start_batch=begin.batch)
    for number, batch in enumerate(arrays, 1):
        last = advance(recipe, begin.batch, number - 1)
        yield save_place(run, _behind(run, last)), rows_of(batch)


def _behind(run: Run, batch: int) -> Place:
    place = run.place(batch)
    return Place(batch + 1, place.window, place.in_window + 1)


def _begin(recipe: Recipe, saved: Saved, hosts: Hosts, index: int, log: Path) -> int:
    """Fork a host, which writes what it reads to a file; return its process."""
    process = os.fork()
    if process:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.setpgid(process, process)
        return process
    status = 1
    try:
        os.setpgid(0, 0)
        with log.open("wb", buffering=0) as file:
            for number, batch in enumerate(read(recipe, saved, hosts, index), 1):
                file.write(pickle.dumps(batch))
                if number == hosts.most:
                    signal.pause()
            file.write(pickle.dumps(None))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _written(log: Path) -> list[Batch | None]:
    """Return the batches of a log that are whole; None behind the last batch of the recipe."""
    found = []
    with (
        contextlib.suppress(FileNotFoundError, EOFError, pickle.UnpicklingError),
        log.open("rb") as file,
    ):
        while True:
            found.append(pickle.load(file))
    return found


def read_and_kill(
    recipe: Recipe, saved: Saved, hosts: Hosts, seconds: float, folder: Path
) -> tuple[list[Batch], bool]:
    """Return the batches that all hosts have read, and whether they are the rest of the recipe."""
    logs = [folder / f"host-{index}" for index in range(hosts.num_hosts)]
    processes = [_begin(recipe, saved, hosts, index, log) for index, log in enumerate(logs)]
    time.sleep(seconds)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
    for process in processes:
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        assert status in (0, -signal.SIGKILL), f"a host ended with {status}: {hosts}, {saved}"
    parts = [_written(log) for log in logs]
    for log in logs:
        log.unlink(missing_ok=True)
    joined = []
    for together in zip(*parts, strict=False):
        if together[0] is None:
            assert set(map(id, together)) == {id(None)}, "hosts end at different batches"
            return joined, True
        states = [state for state, _ in together]
        assert all(state == states[0] for state in states), f"hosts save {states}"
        joined.append((states[0], [row for _, rows in together for row in rows]))
    return joined, False


def _stage_that_begins(run: Run, saved: Saved) -> int | None:
    """Return the stage whose first batch is the next one, but for the first stage."""
    place = run.place(saved["batch"])
    firsts = [stage.first_window for stage in run.stages]
    if place.in_window == 0 and place.window in firsts[1:]:
        return firsts.index(place.window)
    return None


def with_other_batches(recipe: Recipe, first: int, drawn: random.Random) -> Recipe:
    """Return a recipe whose batches have another size from a stage on."""
    stages = list(recipe.stages)
    for number in range(first, len(stages)):
        size = {"batch_size": drawn.randint(1, 9), "batch_tokens": None}
        if drawn.random() < 0.3 and stages[number].tokens is not None:
            width = stages[number].max_seq_length
            ramp = Ramp(start=width, end=drawn.randint(1, 7) * width)
            size = {"batch_size": None, "batch_tokens": ramp}
        stages[number] = dataclasses.replace(stages[number], **size)
    return dataclasses.replace(recipe, stages=tuple(stages))


@dataclasses.dataclass
class Report:
    """What was tried."""

    runs: int = 0
    kills: int = 0
    batches: int = 0
    sequences: int = 0
    read_again: int = 0
    other_hosts: int = 0
    other_sizes: int = 0
    ways: Counter[str] = dataclasses.field(default_factory=Counter)


def run_to_its_end(
    recipe: Recipe, drawn: random.Random, ways: tuple[str, ...], report: Report, folder: Path
) -> None:
    """Read a recipe through kills, and compare; what was tried is added to the report."""
    saved, found, before, patience = save_place(Run(recipe), Place()), list[Batch](), 0, 1.0
    while True:
        way = drawn.choice(ways)
        hosts = Hosts(
            drawn.randint(1, MOST_HOSTS), way, drawn.randint(0, MOST_WORKERS),
            drawn.randint(1, MOST_READ),
        )  # fmt: skip
        reach = 0.15 if way != TORCH else 0.3 + 0.1 * hosts.num_hosts * hosts.num_workers
        seconds = drawn.random() * reach * patience
        joined, is_end = read_and_kill(recipe, saved, hosts, seconds, folder)
        report.other_hosts += hosts.num_hosts != before
        before = hosts.num_hosts
        if is_end:
            found += joined
            break
        report.kills += 1
        report.ways[way] += 1
        patience *= 0.9 if joined else 1.5
        # The last checkpoint may be older than what was read.
        count = drawn.randint(len(joined) // 2, len(joined))
        run = Run(recipe)
        starts = {n: _stage_that_begins(run, state) for n, (state, _) in enumerate(joined, 1)}
        starts = {n: stage for n, stage in starts.items() if stage is not None}
        if starts and drawn.random() < 0.7:
            count, stage = drawn.choice(list(starts.items()))
            recipe = with_other_batches(recipe, stage, drawn)
            report.other_sizes += 1
        found += joined[:count]
        report.read_again += len(joined) - count
        if count:
            saved = json.loads(json.dumps(joined[count - 1][0]))
    compare(recipe, found)
    report.runs += 1
    report.batches += len(found)
    report.sequences += sum(len(rows) for _, rows in found)


def compare(recipe: Recipe, found: list[Batch]) -> None:
    """Compare batches with those of one process, and these with the definition."""
    whole = [(place.batch, rows_of(batch)) for place, batch in iterate_placed(Run(recipe))]
    assert [state["batch"] - 1 for state, _ in found] == [number for number, _ in whole]
    for (_, rows), (number, expected) in zip(found, whole, strict=True):
        assert rows == expected, f"batch {number} differs"
    run = Run(dataclasses.replace(recipe, skip=()))
    of_stage: list[list[Row]] = [[] for _ in run.stages]
    for place, batch in iterate_placed(run):
        of_stage[run.stage_of(place.window).number] += rows_of(batch)
    defined = defined_rows(run, DOCUMENTS)
    for stage, rows, expected in zip(recipe.stages, of_stage, defined, strict=True):
        if stage.batching == "plain":
            assert rows == expected
        elif stage.batching in ("packed", "flat") and stage.asked.num_segments == 1:
            # A few sequences are cut into pieces, which are masked anew.
            assert _tokens(rows) == _tokens(expected)
            left = Counter(expected) - Counter(rows)
            assert sum(left.values()) < len(expected) // 2 + 1
        else:
            assert Counter(rows) == Counter(expected)


def _tokens(rows: list[Row]) -> Counter[int]:
    """Count the tokens of sequences, as they were before they were masked."""
    counts = Counter[int]()
    for ids, _, positions, labels, _ in rows:
        tokens = np.array(ids)
        tokens[list(positions)] = labels
        counts.update(tokens.tolist())
    return Counter({token: count for token, count in counts.items() if token > 4})


def random_recipe(folder: Path, drawn: random.Random, num_stages: int = 12) -> Recipe:
    """A recipe of stages of ten kinds."""
    folder.mkdir(exist_ok=True)
    stages = [_FIRST, *(drawn.choice(_STAGES) for _ in range(num_stages - 1))]
    stages = [
        dataclasses.replace(stage, tokens=stage.tokens and drawn.choice((500, 1500, 4000)))
        for stage in stages
    ]
    first = drawn.randint(0, 90)
    recipe = recipe_of(
        folder, *stages, documents=DOCUMENTS, seed=drawn.getrandbits(40),
        skip=((first, first + 3), (40, 40)),
    )  # fmt: skip
    return with_other_batches(recipe, 1, drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    drawn, report, ways = random.Random(options.seed), Report(), WAYS
    try:
        import bert_data.torch  # noqa: F401
    except ImportError:
        ways = (ARRAYS, PLACED)
    with tempfile.TemporaryDirectory() as name:
        while report.kills < options.kills:
            recipe = random_recipe(Path(name) / "stores", drawn)
            run_to_its_end(recipe, drawn, ways, report, Path(name))
            print(f"{report.kills} kills", file=sys.stderr, flush=True)
    print("# Killed while they read a recipe\n")
    print(f"`python -m tests.recipes.kills --kills={options.kills} --seed={options.seed}`\n")
    print((__doc__ or "").split("\n\n")[2].strip().replace("\n", " "), "\n")
    told = ", ".join(f"{count} by {way}" for way, count in sorted(report.ways.items()))
    print(
        f"{report.kills:,} kills ({told}) in {report.runs} runs of twelve stages each:"
        f" {report.batches:,} batches with {report.sequences:,} sequences were those of the"
        f" definition, none lost, none repeated. The number of hosts changed"
        f" {report.other_hosts:,} times, the size of batches {report.other_sizes} times;"
        f" {report.read_again:,} batches that lay behind the saved places were read again."
    )


if __name__ == "__main__":
    main()
