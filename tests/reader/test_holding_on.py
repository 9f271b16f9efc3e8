"""Readers let go of descriptors and memory, and notice forks and files that change.

Covers reader/planned.py, files/local_records.py, files/indexes.py, layout.py.
"""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forking import Programs
from tests.reader.making import make_instances, write_shards

pytestmark = pytest.mark.process

FEW_DESCRIPTORS = """
import resource, sys
from bert_data.reader import ReaderConfig, iterate_arrays
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), int(sys.argv[2])))
config = ReaderConfig(input_patterns=sys.argv[1], batch_size=64, batching="pools", shuffle=True,
                      max_seq_length=12, num_epochs=2)
rows = sum(len(batch["input_ids"]) for batch in iterate_arrays(config))
print(rows)
"""

LEAKS = """
import contextlib, gc, os, sys
from bert_data.reader import ReaderConfig, iterate_batches, read_batches

def held():
    gc.collect()
    with open("/proc/self/maps") as maps:
        files = {line.split()[-1] for line in maps if "part-" in line}
    links = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # of TensorFlow's threads, which close theirs
            links.append(os.readlink("/proc/self/fd/" + number))
    return sum("part-" in link or "bert_data" in link for link in links), len(files)

config = ReaderConfig(input_patterns=sys.argv[1], batch_size=4, batching="pools", shuffle=True,
                      max_seq_length=12)
def use(how):
    batches = read_batches(config)
    if how == "in part":
        next(iter(batches))
    if how == "whole":
        for _ in batches.map(lambda batch: batch).take(5): pass
    if how == "in a graph":
        import tensorflow as tf
        tf.function(lambda: batches.reduce(0, lambda n, _: n + 1))()
    if how == "by dlpack":
        next(iter(iterate_batches(config)))

use("whole")  # what TensorFlow itself opens once
before = held()
for how in ("not at all", "in part", "whole", "in a graph", "by dlpack"):
    for _ in range(3):
        use(how)
    assert held() == before, (how, before, held())
"""

SHRINKS = """
import os, sys
from bert_data.errors import CorruptDataError
from bert_data.reader import ReaderConfig, iterate_arrays
path, batching = sys.argv[1:]
config = ReaderConfig(input_patterns=path, batch_size=2, batching=batching, shuffle=True,
                      max_seq_length=12, num_epochs=None)
batches = iterate_arrays(config)
next(batches)
os.truncate(path, os.path.getsize(path) // 2)
try:
    for _ in batches: pass
except CorruptDataError as error:
    assert error.path == path
    print(error.reason)
"""

FORKS = """
import os, sys
import numpy as np
from bert_data.reader import ReaderConfig, iterate_arrays
from bert_data.reader.layout import new_bytes, new_file

def iterate():
    return iterate_arrays(ReaderConfig(input_patterns=sys.argv[1], batch_size=64, batching="pools",
                                       shuffle=True, max_seq_length=12, num_epochs=20))

def told(batches):
    return [int(batch["input_ids"].sum()) for batch in batches]

expected = told(iterate())
held = new_bytes(1 << 20)
held[:] = 7
in_file, _ = new_file(1 << 20)
in_file[:] = 7
begun = iterate()
next(begun)
child = os.fork()
if not child:
    held[:] = 9  # neither the parent's nor what it waits to reuse
    in_file = None  # its file is also the parent's
    again = [new_bytes(1 << size) for size in range(16, 24)]
    again += [new_file(1 << size)[0] for size in range(16, 24)]
    for array in again:
        array[:] = 9
    try:
        next(begun)
        os._exit(1)
    except RuntimeError:
        pass
    os._exit(0 if told(iterate()) == expected else 2)
assert told(iterate()) == expected
assert os.waitpid(child, 0)[1] == 0
assert (held == 7).all() and (in_file == 7).all()
assert told(iterate()) == expected
"""


Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Run:
    """Runs a program in a process of its own: (program, arguments); returns what it prints."""

    def run_program(program: str, *arguments: str) -> str:
        (tmp_path / "program.py").write_text(program)
        loads = "tensorflow_programs" if "tensorflow" in program else "programs"
        programs: Programs = request.getfixturevalue(loads)
        result = programs.run(["program.py", *arguments], cwd=tmp_path)
        assert result.returncode == 0, result.stderr[-2000:]
        return result.stdout.strip()

    return run_program


@pytest.mark.parametrize(("num_shards", "limit"), [(600, 1024), (600, 80), (3000, 1024)])
def test_many_shards_and_few_descriptors(
    run: Run, tmp_path: Path, num_shards: int, limit: int
) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard == resource.RLIM_INFINITY or hard >= limit
    patterns = write_shards(tmp_path, num_shards, make_instances(num_shards))
    assert run(FEW_DESCRIPTORS, patterns, str(limit)) == str(2 * num_shards)


def test_a_source_that_is_dropped_gives_everything_back(run: Run, tmp_path: Path) -> None:
    run(LEAKS, write_shards(tmp_path, 3, make_instances(40)))


@pytest.mark.parametrize("batching", ["stream", "plain", "pools", "packed"])
def test_a_shard_that_becomes_shorter_ends_in_an_error(
    run: Run, tmp_path: Path, batching: str
) -> None:
    write_shards(tmp_path, 1, make_instances(3000))
    reason = run(SHRINKS, str(tmp_path / "part-00000-of-00001"), batching)
    assert "become shorter" in reason or "is cut off after" in reason


def test_forked_readers_have_memory_of_their_own(run: Run, tmp_path: Path) -> None:
    run(FORKS, write_shards(tmp_path, 3, make_instances(4000)))
