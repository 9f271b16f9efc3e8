"""Planned batches of shards in an object store beside local ones and streams, as Markdown.

    python benchmarks/remote_reading.py > benchmarks/results/remote_reading.md

The records are those of ../shared/data/corpora/movie_reviews.txt in the reference's layout, in four
shards, in a server that speaks S3 on loopback, in a process of its own. A row is an epoch of
batches of 256 arrays. "per CPU second" counts the reader's process only, which shares the cores
with the server; "ranged reads" and their bytes are counted by the server, from the first batch on,
without what finding and checking the shards takes. Ways:

* pools: planned batches, fully shuffled, from a local copy of all shards, which is made before the
  first batch (cold: the first epoch; warm: the second), or through a file of a quarter of them.
* plain: planned batches in order; from 90%: a run that starts at nine tenths of the epoch.
* stream: shards from start to end, shuffled in a buffer.
"""

import argparse
import dataclasses
import itertools
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

DATA = CHECKOUT.parent / "shared" / "data"
BATCH_SIZE = 256
NUM_WAYS = 5  # each reads objects of its own, of which no copy is left
COLUMNS = ("shards", "way", "thousand records/s", "per CPU second", "ranged reads", "MB read",
           "of the records read")  # fmt: skip


def serve(connection: Connection, folder: str) -> None:
    """Serves a folder's files; then answers each message with the ranged reads since the last."""
    from tests.object_store import ObjectStore, Server

    server = Server()
    store = ObjectStore(server)
    for number, path in itertools.product(range(NUM_WAYS), Path(folder).iterdir()):
        store.put(f"set-{number}/{path.name}", path.read_bytes())
    connection.send((server.environment(), store.uri("set")))
    while connection.recv():
        reads = [r.range for r in store.requests if r.method == "GET" and "/part-" in r.key]
        ends = [each.removeprefix("bytes=").split("-") for each in reads if each]
        connection.send((len(reads), sum(int(end) - int(begin) + 1 for begin, end in ends)))
        store.requests.clear()


def make_records(folder: str, dupe_factor: int) -> int:
    """Writes the records into `folder`; returns how many there are."""
    from bert_data.reader import ReaderConfig
    from bert_data.reader.files.shards import find_shards
    from bert_data.records.instances.instance_config import InstanceConfig
    from bert_data.records.sets.creating import create_dataset
    from bert_data.records.sets.dataset_config import DatasetConfig

    create_dataset(
        DatasetConfig(
            input_file=str(DATA / "corpora" / "movie_reviews.txt"),
            output_file=f"{folder}/part@4",
            vocab_file=str(DATA / "vocab" / "bert-base-uncased.txt"),
            instances=InstanceConfig(dupe_factor=dupe_factor),
            record_layout="reference",
            num_examples=0,
        )
    )
    shards = find_shards(ReaderConfig(input_patterns=f"{folder}/part-*", batch_size=1))
    return sum(shard.num_records or 0 for shard in shards)


@dataclasses.dataclass
class Pass:
    """The cost of an epoch: records, seconds by the clock, CPU seconds."""

    num_records: int
    seconds: float
    cpu_seconds: float


def time_epochs(batches: Iterator[Any], epochs: list[int]) -> Iterator[Pass]:
    """Takes batches, so many for each epoch."""
    for num_batches in epochs:
        start, cpu = time.perf_counter(), time.process_time()
        count = sum(b["input_ids"].shape[0] for b in itertools.islice(batches, num_batches))
        yield Pass(count, time.perf_counter() - start, time.process_time() - cpu)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dupe_factor", type=int, default=5)
    arguments = parser.parse_args()
    if not DATA.exists():
        sys.exit("remote_reading.py: error: needs ../shared/data beside the checkout")
    with tempfile.TemporaryDirectory() as folder:
        num_records = make_records(folder, arguments.dupe_factor)
        size = sum(path.stat().st_size for path in Path(folder).glob("part-*"))
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        server = context.Process(target=serve, args=(theirs, folder), daemon=True)
        server.start()
        environment, uri = ours.recv()
        os.environ.update(environment)
        print(f"# Reading from an object store\n\n{describe_machine()}\n")
        print(f"{num_records:,} records of at most 128 tokens in 4 shards of {size / 1e6:.0f} MB")
        print("in all; one epoch each.\n")
        print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
        for line in rows(folder, uri, num_records, size, ours):
            print(f"| {' | '.join(line)} |", flush=True)
        ours.send(None)
        server.join()


def rows(
    folder: str, uri: str, num_records: int, size: int, server: Connection
) -> Iterator[tuple[str, ...]]:
    """Yields the cells of each row."""
    from bert_data.reader import ReaderConfig, iterate_arrays

    in_all = -(-num_records // BATCH_SIZE)
    rest = in_all - in_all * 9 // 10
    shuffled = {"batching": "pools", "shuffle": True, "num_epochs": None}
    quarter = {"remote_cache_bytes": size // 4}
    ways: tuple[tuple[str, dict[str, Any], list[int]], ...] = (
        ("pools, cold|pools, warm", shuffled, [in_all, in_all]),
        ("pools, a quarter", {**shuffled, **quarter}, [in_all]),
        ("plain", {"batching": "plain"}, [in_all]),
        ("plain, from 90%", {"batching": "plain", "start_batch": in_all - rest}, [rest]),
        ("stream", {"batching": "stream", "shuffle": True}, [in_all]),
    )
    for place in ("local", "remote"):
        for number, (names, settings, epochs) in enumerate(ways):
            if place == "local" and names == "pools, a quarter":
                continue
            config = ReaderConfig(
                input_patterns=f"{folder if place == 'local' else f'{uri}-{number}'}/part-*",
                batch_size=BATCH_SIZE,
                max_seq_length=128,
                max_predictions_per_seq=20,
                **settings,
            )
            batches = iterate_arrays(config)
            server.send("forget")
            server.recv()
            for name, took in zip(names.split("|"), time_epochs(batches, epochs), strict=True):
                server.send("count")
                num_reads, num_bytes = server.recv()
                needed = size * took.num_records / num_records
                yield (
                    place,
                    name,
                    f"{took.num_records / took.seconds / 1e3:.0f}",
                    f"{took.num_records / took.cpu_seconds / 1e3:.0f}",
                    f"{num_reads:,}" if place == "remote" else "",
                    f"{num_bytes / 1e6:.1f}" if place == "remote" else "",
                    f"{num_bytes / needed:.2f}" if place == "remote" else "",
                )
            del batches


if __name__ == "__main__":
    main()
