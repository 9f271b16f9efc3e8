"""Speed of the reader compared with the reference's way and raw records, as Markdown.

    python benchmarks/reading.py > benchmarks/results/reading.md

The records are those of ../shared/data/corpora/movie_reviews.txt, in both layouts, in the page
cache. All ways run in turn in one process per number of cores; a figure is the median of the
rounds. Batches are taken in a graph, as in training. Examples per second are by the clock, and by
the process' CPU time (all threads), which other work on the machine disturbs less. Ratios are of
CPU time on one core and of the clock on two. Ways:

* raw records: `TFRecordDataset` and `batch`; nothing is parsed. This bounds any reader made of
  TensorFlow's operations; "of raw records" is the speed as a share of it.
* per record: the reference's way: `parse_single_example` on each record, then `batch`.
* parse_example: `batch`, then `tf.io.parse_example`: the vectorised way with TensorFlow alone.
* stream, plain, pools, buckets, packed: `read_batches` with this `batching`, to the width of each
  batch. Packed rows hold several examples; a batch has as many rows, so there are fewer batches.

"shuffled" is the order for training: of all records if batches are planned, otherwise of
interleaved shards with a shuffle buffer of 8,192 records.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

DATA = CHECKOUT.parent / "shared" / "data"
SEQ_LENGTH, PREDICTIONS, BUFFER = 128, 20, 8192
LAYOUTS = ("reference", "ragged")
RAW, PER_RECORD = "raw records", "per record"
BATCHINGS = ("stream", "plain", "pools", "buckets", "packed")
Pipeline = Callable[[], Any]


def make_records(folder: str, dupe_factor: int) -> int:
    """Writes the records in both layouts into `folder`; returns how many each has."""
    from bert_data.records.instances.instance_config import InstanceConfig
    from bert_data.records.sets.creating import create_dataset
    from bert_data.records.sets.dataset_config import DatasetConfig

    for layout in LAYOUTS:
        create_dataset(
            DatasetConfig(
                input_file=str(DATA / "corpora" / "movie_reviews.txt"),
                output_file=f"{folder}/{layout}@4",
                vocab_file=str(DATA / "vocab" / "bert-base-uncased.txt"),
                instances=InstanceConfig(dupe_factor=dupe_factor),
                record_layout=layout,
                num_examples=0,
            )
        )
    from bert_data.records.sets.manifest import find_manifest

    manifest = find_manifest(f"{folder}/ragged-00000-of-00004")
    assert manifest is not None
    return sum(file.num_records for file in manifest.files)


def peers(folder: str, layout: str, batch_size: int, *, shuffled: bool) -> dict[str, Pipeline]:
    """The ways of TensorFlow alone; padded records only can be parsed without row splits."""
    import tensorflow as tf

    auto = tf.data.AUTOTUNE
    paths = [f"{folder}/{layout}-{shard:05d}-of-00004" for shard in range(4)]
    int_lengths = {
        "input_ids": SEQ_LENGTH,
        "input_mask": SEQ_LENGTH,
        "segment_ids": SEQ_LENGTH,
        "masked_lm_positions": PREDICTIONS,
        "masked_lm_ids": PREDICTIONS,
        "next_sentence_labels": 1,
    }
    spec = {n: tf.io.FixedLenFeature([length], tf.int64) for n, length in int_lengths.items()}
    spec["masked_lm_weights"] = tf.io.FixedLenFeature([PREDICTIONS], tf.float32)

    def records() -> Any:
        if not shuffled:
            return tf.data.TFRecordDataset(paths)
        shards = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))
        interleaved = shards.interleave(
            tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=auto
        )
        return interleaved.shuffle(BUFFER)

    def narrow(parsed: Any) -> Any:
        return {
            name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else value
            for name, value in parsed.items()
        }

    def parse_one(record: Any) -> Any:
        return narrow(tf.io.parse_single_example(record, spec))

    def parse_many(batch: Any) -> Any:
        return narrow(tf.io.parse_example(batch, spec))

    ways: dict[str, Pipeline] = {RAW: lambda: records().batch(batch_size)}
    if layout == "reference":
        ways[PER_RECORD] = lambda: records().map(parse_one, auto).batch(batch_size).prefetch(auto)
        ways["parse_example"] = lambda: (
            records().batch(batch_size).map(parse_many, auto).prefetch(auto)
        )
    return ways


def ours(folder: str, layout: str, batch_size: int, *, shuffled: bool) -> dict[str, Pipeline]:
    from bert_data.reader import ReaderConfig, read_batches

    def way(batching: str) -> Pipeline:
        config = ReaderConfig(
            input_patterns=f"{folder}/{layout}-*",
            batch_size=batch_size,
            batching=batching,
            shuffle=shuffled,
            shuffle_buffer=BUFFER,
        )
        return lambda: read_batches(config)

    return {batching: way(batching) for batching in BATCHINGS}


def consumer(dataset: Any, num_cores: int) -> Callable[[], Any]:
    """A function that takes all batches in a graph, as training does, and counts their examples."""
    import tensorflow as tf

    options = tf.data.Options()
    options.threading.private_threadpool_size = num_cores
    dataset = dataset.with_options(options)

    def count(examples: Any, batch: Any) -> Any:
        if not isinstance(batch, dict):
            return examples + tf.shape(batch)[0]
        if "next_sentence_weights" in batch:
            return examples + tf.cast(tf.reduce_sum(batch["next_sentence_weights"]), tf.int32)
        return examples + tf.shape(batch["input_ids"])[0]

    return tf.function(lambda: dataset.reduce(0, count))


def seconds_of(consume: Callable[[], Any], num_records: int) -> tuple[float, float]:
    """Seconds of the clock and of CPU time that one pass takes."""
    start, cpu_start = time.perf_counter(), time.process_time()
    assert int(consume()) == num_records
    return time.perf_counter() - start, time.process_time() - cpu_start


def measure(folder: str, num_cores: int, num_records: int, rounds: int) -> None:
    """Prints a row for each way on this number of cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:num_cores])
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(num_cores)
    tf.config.threading.set_inter_op_parallelism_threads(num_cores)
    for shuffled in (False, True):
        for batch_size in (32, 256):
            ways: dict[tuple[str, str], Any] = {}
            for layout in LAYOUTS:
                for make in (peers, ours):
                    for name, way in make(folder, layout, batch_size, shuffled=shuffled).items():
                        ways[layout, name] = consumer(way(), num_cores)
            times: dict[tuple[str, str], list[tuple[float, float]]] = {key: [] for key in ways}
            order = "shuffled" if shuffled else "in order"
            for round_number in range(rounds + 1):
                for key, consume in ways.items():
                    seconds = seconds_of(consume, num_records)
                    if round_number:  # the first one warms up
                        times[key].append(seconds)
            print_rows(times, num_records, f"{num_cores} | {order} | {batch_size}", num_cores)


def print_rows(
    times: dict[tuple[str, str], list[tuple[float, float]]],
    num_records: int,
    where: str,
    num_cores: int,
) -> None:
    medians = {
        key: tuple(map(statistics.median, zip(*values, strict=True)))
        for key, values in times.items()
    }
    compared = {key: values[1 if num_cores == 1 else 0] for key, values in medians.items()}
    for (layout, name), (seconds, cpu_seconds) in medians.items():
        raw = compared[layout, RAW] / compared[layout, name]
        reference = compared["reference", PER_RECORD] / compared[layout, name]
        speeds = " | ".join(f"{num_records / s / 1000:,.0f}" for s in (seconds, cpu_seconds))
        print(
            f"| {where} | {layout} | {name} | {speeds} | {raw:.2f} | {reference:.1f} |", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dupe_factor", type=int, default=10)
    parser.add_argument("--measure", nargs=3, metavar=("FOLDER", "CORES", "RECORDS"))
    arguments = parser.parse_args()
    if arguments.measure:
        folder, num_cores, num_records = arguments.measure
        measure(folder, int(num_cores), int(num_records), arguments.rounds)
        return
    if not DATA.is_dir():
        sys.exit("reading.py: error: needs ../shared/data beside the checkout")
    print(f"# Reading\n\n{describe_machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        num_records = make_records(folder, arguments.dupe_factor)
        print(
            f"{num_records:,} records of at most {SEQ_LENGTH} tokens in 4 shards; the median of "
            f"{arguments.rounds} rounds.\n\n"
            "| cores | order | batch | layout | way | thousand examples/s | per CPU second "
            "| of raw records | times per record |\n|---|---|---|---|---|---|---|---|---|",
            flush=True,
        )
        for num_cores in (1, 2):
            subprocess.run(
                [
                    *(sys.executable, __file__, "--rounds", str(arguments.rounds)),
                    *("--measure", folder, str(num_cores), str(num_records)),
                ],
                check=True,
            )
    load, *_ = os.getloadavg()
    print(f"\nLoad average at the end: {load:.0f}, of which this program is at most 2.")


if __name__ == "__main__":
    main()
