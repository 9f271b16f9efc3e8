"""Kills hosts that read a recipe, and reads on with others, until the recipe ends.

    python -m tests.recipes.kills --kills=1000

A run has one to five hosts, processes that are killed at once by SIGKILL, wherever they are. Each
has written down what it read and the place that it would have saved behind each batch. The next
ones begin at a place that all have saved: other numbers of hosts, other ways to read (among them
`bert_data.torch` with workers), and at the start of a stage batches of another size. In the end the
batches, put together, are those of one process that reads the last recipe without a pause, and
their sequences those of the definition: of packed rows of single segments, which cut some, their
tokens, and of those that end by steps nothing. Hosts are forked, so that a start takes no time.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pickle
import random
import select
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
from bert_data.recipes.recipe_run import Place, Run, load_place, save_place
from bert_data.recipes.recipe_source import advance
from bert_data.recipes.run_batches import iterate_arrays, iterate_placed
from tests.recipes.defined import Row, defined_rows, rows_of
from tests.recipes.stores import many_documents, recipe_of

ARRAYS, PLACED, TORCH = WAYS = ("arrays", "placed", "torch")
MOST_HOSTS, MOST_WORKERS, MOST_READ, SAVED_EVERY = 5, 3, 40, 6
DOCUMENTS = {"a": many_documents(1, 90), "b": many_documents(2, 40)}
_FIRST = Stage(
    epochs={"a": 0.5}, max_seq_length=32, batch_size=5, pool_batches=4, mixture={"a": 2, "b": 1},
    masking=StageMasking(rate=0.3),
)  # fmt: skip
_STAGES = (
    Stage(epochs={"b": 0.3}, batching="plain", objective="none", max_seq_length=32),
    Stage(tokens=1, batching="packed", objective="none", max_seq_length=48),
    Stage(steps=17, batching="packed", objective="none", max_seq_length=40),
    Stage(tokens=1, batching="packed", objective="sop", masking=StageMasking(rule="spans")),
    Stage(tokens=1, batching="flat", objective="none", masking=StageMasking(rule="tokens")),
    Stage(tokens=1, batching="plain", objective="tokens", max_seq_length=24),
    Stage(tokens=1, batching="buckets", objective="nsp", num_buckets=3),
    Stage(tokens=1, batching="pools", objective="none", masking=StageMasking(whole_words=True)),
    Stage(tokens=1, batching="plain", objective="sop", masking=StageMasking(rule="ngrams")),
)
Saved = dict[str, Any]


class Batch(NamedTuple):
    """A batch that was read.

    Attributes:
      saved: the place behind it, if it was saved.
    """

    number: int
    saved: Saved | None
    rows: list[Row]


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
    """Yield what a host reads, with what it would save behind it."""
    own = {"num_hosts": hosts.num_hosts, "host_index": index}
    if hosts.way == TORCH:
        from bert_data.torch import RecipeDataset

        loader = RecipeDataset(recipe, **own).loader(num_workers=hosts.num_workers)
        loader.load_state_dict(saved)
        for tensors in loader:
            batch = {name: values.numpy() for name, values in tensors.items()}
            state = loader.state_dict()
            yield Batch(state["batch"] - 1, state, rows_of(batch))
        return
    run = Run(recipe)
    begin = load_place(run, saved)
    if hosts.way == PLACED:
        for place, batch in iterate_placed(run, begin, **own):
            after = place._replace(batch=place.batch + 1, in_window=place.in_window + 1)
            yield Batch(place.batch, save_place(run, after), rows_of(batch))
        return
    arrays = iterate_arrays(recipe, **own, start_batch=begin.batch)
    for count, batch in enumerate(arrays, 1):
        number = advance(recipe, begin.batch, count - 1)
        is_saved = not count % SAVED_EVERY  # to find a place by a number takes a while
        state = save_place(run, run.place(number + 1)) if is_saved else None
        yield Batch(number, state, rows_of(batch))


def _begin(
    recipe: Recipe, saved: Saved, hosts: Hosts, index: int, log: Path, pipes: tuple[int, ...]
) -> int:
    """Fork a host, which writes what it reads to a file; return its process.

    Args:
      pipes: both ends of one whose writer is this process, and of one that tells who has read all.
    """
    process = os.fork()
    if process:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.setpgid(process, process)
        return process
    status = 1
    try:
        os.setpgid(0, 0)
        alive, parents_end, _, done = pipes
        os.close(parents_end)
        with log.open("wb", buffering=0) as file:
            for number, batch in enumerate(read(recipe, saved, hosts, index), 1):
                file.write(pickle.dumps(batch))
                if number == hosts.most:
                    os.write(done, b".")
                    os.read(alive, 1)  # until the parent ends, or kills it
                    break
            else:
                file.write(pickle.dumps(None))
                os.write(done, b".")
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


def _wait_for_all(done: int, num_hosts: int, seconds: float) -> None:
    """Wait until so many bytes have come through a pipe, for so long at most."""
    end, waiting = time.monotonic() + seconds, select.poll()
    waiting.register(done, select.POLLIN)
    while num_hosts and waiting.poll(max(0.0, 1000 * (end - time.monotonic()))):
        num_hosts -= len(os.read(done, num_hosts))


def read_and_kill(
    recipe: Recipe, saved: Saved, hosts: Hosts, seconds: float, folder: Path
) -> tuple[list[Batch], bool]:
    """Return the batches that all hosts have read, and whether they are the rest of the recipe."""
    logs = [folder / f"host-{index}" for index in range(hosts.num_hosts)]
    pipes = *os.pipe(), *os.pipe()
    processes = [_begin(recipe, saved, hosts, index, log, pipes) for index, log in enumerate(logs)]
    _wait_for_all(pipes[2], hosts.num_hosts, seconds)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
    for process in processes:
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        assert status in (0, -signal.SIGKILL), f"a host ended with {status}: {hosts}, {saved}"
    parts = [_written(log) for log in logs]
    for log in logs:
        log.unlink(missing_ok=True)
    for end in pipes:
        os.close(end)
    joined = []
    for together in zip(*parts, strict=False):
        if together[0] is None:
            assert set(map(id, together)) == {id(None)}, "hosts end at different batches"
            return joined, True
        first, *others = together
        assert all(each[:2] == first[:2] for each in others), f"hosts read {together}"
        joined.append(first._replace(rows=[row for batch in together for row in batch.rows]))
    return joined, False


def _saved_places(run: Run, joined: list[Batch]) -> tuple[list[int], dict[int, int]]:
    """Return behind how many batches a place was saved; and for stages' ends the next stage."""
    counts = [count for count, batch in enumerate(joined, 1) if batch.saved]
    ends = {}
    for count in counts:
        later = joined[count].saved if count < len(joined) else None
        here = joined[count - 1].saved
        if here and later and here["stage_begin"] != later["stage_begin"]:
            ends[count] = run.stage_of(later["window"]).number
    return counts, ends


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
        patience = max(1.0, patience / 2) if joined else 1.5 * patience
        # The last checkpoint may be older than what was read.
        counts, ends = _saved_places(Run(recipe), joined)
        count = drawn.choice([0, *counts][len(counts) // 2 :])
        if ends and drawn.random() < 0.7:
            count, stage = drawn.choice(list(ends.items()))
            recipe = with_other_batches(recipe, stage, drawn)
            report.other_sizes += 1
        found += joined[:count]
        report.read_again += len(joined) - count
        if count:
            saved = json.loads(json.dumps(joined[count - 1].saved))
    compare(recipe, found)
    report.runs += 1
    report.batches += len(found)
    report.sequences += sum(len(batch.rows) for batch in found)


def compare(recipe: Recipe, found: list[Batch]) -> None:
    """Compare batches with those of one process, and these with the definition."""
    whole = [(place.batch, rows_of(batch)) for place, batch in iterate_placed(Run(recipe))]
    assert [batch.number for batch in found] == [number for number, _ in whole]
    for batch, (number, expected) in zip(found, whole, strict=True):
        assert batch.rows == expected, f"batch {number} differs"
    run = Run(dataclasses.replace(recipe, skip=()))
    of_stage: list[list[Row]] = [[] for _ in run.stages]
    for place, batch in iterate_placed(run):
        of_stage[run.stage_of(place.window).number] += rows_of(batch)
    defined = defined_rows(run, DOCUMENTS)
    for stage, rows, expected in zip(recipe.stages, of_stage, defined, strict=True):
        if stage.batching == "plain":
            assert rows == expected
        elif stage.batching in ("packed", "flat") and stage.asked.num_segments == 1:
            # A few sequences are cut into pieces, which are masked anew. Where steps end the stage,
            # its last window has as many sequences as they take.
            assert stage.steps or _tokens(rows) == _tokens(expected)
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
