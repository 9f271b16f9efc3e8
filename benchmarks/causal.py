"""Speed of sample indices, blends and batches, compared with plain loops, as Markdown.

    python benchmarks/causal.py > benchmarks/results/causal.md

The peers are Megatron-LM's algorithms, rewritten: its loops over samples and data sets in C
(`cc -O3`, as in its Makefile; left out without a compiler) and in numba (compiled for this very
processor), and its way to build a sample, from a slice of each document joined by NumPy. All run in
turn in one process with one thread; a figure is the median of the rounds. "CPU" is the process' CPU
time; "wall" is the clock, which other work on the machine disturbs. Our results are compared with
the peers' in every round.
"""

import argparse
import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

from bert_data.gpt import GptConfig, GptDataset  # noqa: E402
from bert_data.gpt.blending import build_blending_indices, normalize_weights  # noqa: E402
from bert_data.gpt.indices import EpochCounts, build_document_index, build_sample_index, plan_epochs  # noqa: E402
from bert_data.tokens.store_writer import StoreWriter  # noqa: E402

Result = tuple[Any, ...]
Way = Callable[[], Result]

BATCH_SIZE = 32

C_LOOPS = r"""
#include <stdint.h>
void blend(const double *weights, int64_t num_sets, int64_t size, int64_t *taken,
           int16_t *set_index, int64_t *sample_index) {
    for (int64_t n = 0; n < size; ++n) {
        double scale = n > 1 ? (double)n : 1.0;
        int64_t best = 0;
        double largest = weights[0] * scale - (double)taken[0];
        for (int64_t i = 1; i < num_sets; ++i) {
            double lag = weights[i] * scale - (double)taken[i];
            if (lag > largest) { largest = lag; best = i; }
        }
        set_index[n] = (int16_t)best;
        sample_index[n] = taken[best]++;
    }
}
void cut(const int32_t *lengths, const int32_t *order, int32_t seq_length, int64_t num_samples,
         int32_t *rows) {
    int32_t position = 0, offset = 0;
    rows[0] = rows[1] = 0;
    for (int64_t k = 1; k <= num_samples; ++k) {
        int32_t left = seq_length + 1;
        while (left != 0) {
            int32_t available = lengths[order[position]] - offset;
            left -= available;
            if (left <= 0) { offset += left + available - 1; left = 0; }
            else { ++position; offset = 0; }
        }
        rows[2 * k] = position;
        rows[2 * k + 1] = offset;
    }
}
"""


def compile_c_loops(folder: str) -> Any:
    """The loops in C, or None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, library = f"{folder}/loops.c", f"{folder}/loops.so"
    Path(source).write_text(C_LOOPS)
    subprocess.run([compiler, "-O3", "-shared", "-fPIC", source, "-o", library], check=True)
    return ctypes.CDLL(library)


@numba.njit(error_model="numpy")
def blend_loop(weights: Any, taken: Any, set_index: Any, sample_index: Any) -> None:
    for n in range(set_index.size):
        scale = max(float(n), 1.0)
        best = 0
        largest = weights[0] * scale - float(taken[0])
        for i in range(1, weights.size):
            lag = weights[i] * scale - float(taken[i])
            if lag > largest:
                largest = lag
                best = i
        set_index[n] = best
        sample_index[n] = taken[best]
        taken[best] += 1


@numba.njit(error_model="numpy")
def cut_loop(lengths: Any, order: Any, seq_length: int, rows: Any) -> None:
    position, offset = 0, 0
    rows[0] = 0
    for k in range(1, rows.shape[0]):
        left = seq_length + 1
        while left != 0:
            available = lengths[order[position]] - offset
            left -= available
            if left <= 0:
                offset += left + available - 1
                left = 0
            else:
                position += 1
                offset = 0
        rows[k, 0] = position
        rows[k, 1] = offset


def addresses(*arrays: Any) -> list[Any]:
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


def blend_ways(weights: list[float], size: int, loops: Any) -> dict[str, Way]:
    shares = np.array(weights)

    def ours() -> Result:
        blend = build_blending_indices(weights, size)
        return blend.dataset_index, blend.dataset_sample_index

    def empty() -> tuple[Any, Any, Any]:
        return np.zeros(shares.size, np.int64), np.zeros(size, np.int16), np.zeros(size, np.int64)

    def in_numba() -> Result:
        taken, *outputs = empty()
        blend_loop(shares, taken, *outputs)
        return tuple(outputs)

    def in_c() -> Result:
        taken, *outputs = empty()
        sizes = [ctypes.c_int64(shares.size), ctypes.c_int64(size)]
        loops.blend(*addresses(shares), *sizes, *addresses(taken, *outputs))
        return tuple(outputs)

    ways = {"bert_data": ours, "loop in numba": in_numba}
    return {**ways, "loop in C": in_c} if loops else ways


def index_ways(lengths: Any, order: Any, plan: EpochCounts, loops: Any) -> dict[str, Way]:
    def ours() -> Result:
        return (build_sample_index(lengths, order, plan),)

    def empty() -> Any:
        return np.empty((plan.num_samples + 1, 2), np.int32)

    def in_numba() -> Result:
        rows = empty()
        cut_loop(lengths, order, plan.seq_length, rows)
        return (rows,)

    def in_c() -> Result:
        rows = empty()
        sizes = [ctypes.c_int32(plan.seq_length), ctypes.c_int64(plan.num_samples)]
        loops.cut(*addresses(lengths, order), *sizes, *addresses(rows))
        return (rows,)

    ways = {"bert_data": ours, "loop in numba": in_numba}
    return {**ways, "loop in C": in_c} if loops else ways


def sample_of_slices(dataset: GptDataset, number: int) -> Any:
    """A sample as GPTDataset.__getitem__ makes it: a slice of each document, put together."""
    store = dataset.documents.store
    sample = int(dataset.shuffle_index[number])
    (first, start), (last, stop) = dataset.sample_index[sample], dataset.sample_index[sample + 1]
    parts = []
    for position in range(first, last + 1):
        document = dataset.document_index[position]
        begin = start if position == first else 0
        end = stop + 1 if position == last else store.lengths[document]
        at = store.offsets[document] // store.ids.itemsize
        parts.append(store.ids[at + begin : at + end])
    return np.concatenate(parts, dtype=np.int64)


def batch_ways(dataset: GptDataset, batch_size: int) -> dict[str, Way]:
    num_batches = len(dataset) // batch_size
    seq_length = dataset.config.seq_length
    mask, positions = np.ones(seq_length, np.float32), np.arange(seq_length)

    def ours() -> Result:
        total = 0
        for number in range(num_batches):
            batch = dataset.batch(np.arange(number * batch_size, (number + 1) * batch_size))
            total += int(batch.tokens[:, 0].sum())
        return (np.array(total),)

    def slices() -> Result:
        total = 0
        for number in range(num_batches):
            numbers = range(number * batch_size, (number + 1) * batch_size)
            texts = [sample_of_slices(dataset, each) for each in numbers]
            tokens = np.stack([text[:-1] for text in texts])
            np.stack([text[1:] for text in texts])
            np.stack([mask] * batch_size)
            np.stack([positions] * batch_size)
            total += int(tokens[:, 0].sum())
        return (np.array(total),)

    return {"bert_data": ours, "slices in NumPy": slices}


def tensorflow_ways(dataset: GptDataset, batch_size: int) -> dict[str, Way]:
    """Batches in a graph; the peer's samples come one by one from a generator."""
    import tensorflow as tf

    from bert_data.gpt.batches import SampleReaderConfig, read_samples

    seq_length = dataset.config.seq_length
    mask, positions = np.ones(seq_length, np.float32), np.arange(seq_length)

    def samples() -> Any:
        for number in range(len(dataset)):
            text = sample_of_slices(dataset, number)
            yield text[:-1], text[1:], mask, positions

    kinds = (tf.int64, tf.int64, tf.float32, tf.int64)
    peer = tf.data.Dataset.from_generator(
        samples, output_signature=tuple(tf.TensorSpec([seq_length], kind) for kind in kinds)
    ).batch(batch_size, drop_remainder=True)
    ours = read_samples(dataset, SampleReaderConfig(batch_size=batch_size))

    def consumer(tokens: Any) -> Way:
        def add(total: Any, batch: Any) -> Any:
            return total + tf.reduce_sum(tf.cast(batch[:, 0], tf.int64))

        consume = tf.function(lambda: tokens.reduce(np.int64(0), add))
        return lambda: (consume().numpy(),)

    return {
        "bert_data": consumer(ours.map(lambda batch: batch["tokens"])),
        "slices, from_generator, batch": consumer(peer.map(lambda tokens, _, __, ___: tokens)),
    }


def measure(title: str, ways: dict[str, Way], num_units: int, rounds: int) -> None:
    """Prints a row for each way; compares what they make.

    What is made is let go of before the next way begins, so that all find memory in one state.
    """
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    expected = next(iter(ways.values()))()
    for round_number in range(rounds + 1):
        for name, way in ways.items():
            start, cpu_start = time.perf_counter(), time.process_time()
            result = way()
            seconds = time.perf_counter() - start, time.process_time() - cpu_start
            if round_number:  # the first one warms up
                times[name].append(seconds)
            for one, other in zip(expected, result, strict=True):
                np.testing.assert_array_equal(one, other)
            del result, one, other
    medians = {
        name: tuple(map(statistics.median, zip(*values, strict=True)))
        for name, values in times.items()
    }
    for name, (wall, cpu) in medians.items():
        speeds = " | ".join(f"{num_units / seconds / 1e6:,.3g}" for seconds in (cpu, wall))
        ratio = cpu / medians["bert_data"][1]
        print(f"| {title} | {name} | {speeds} | {ratio:.2f} |", flush=True)


def print_head(title: str, unit: str) -> None:
    print(
        f"\n## {title}\n\n| what | way | million {unit} per CPU second | per second, wall "
        "| CPU time, ours = 1 |\n|---|---|--:|--:|--:|"
    )


def print_indices(loops: Any, rounds: int) -> None:
    random = np.random.RandomState(0)
    lengths = random.randint(1, 1200, 1_000_000).astype(np.int32)
    print_head("Sample index", "samples")
    for seq_length, num_samples in ((64, 10_000_000), (512, 10_000_000), (2048, 3_000_000)):
        plan = plan_epochs(int(lengths.sum()), seq_length, num_samples)
        order = build_document_index((0, lengths.size), plan, random)
        title = f"{plan.num_samples:,} samples of {seq_length} from {order.size:,} documents"
        measure(title, index_ways(lengths, order, plan, loops), plan.num_samples, rounds)


def print_blends(loops: Any, rounds: int) -> None:
    print_head("Blends", "samples")
    random = np.random.RandomState(0)
    kinds = {
        "random weights": lambda count: random.rand(count) + 0.01,
        "weights of 17 kinds": lambda count: np.arange(count) % 17 + 1.0,
    }
    for count, size in ((3, 10_000_000), (30, 3_000_000), (300, 2_000_000), (5000, 100_000)):
        for kind, make in kinds.items():
            weights = normalize_weights(normalize_weights(make(count).tolist()))
            title = f"{size:,} samples of {count:,} data sets, {kind}"
            measure(title, blend_ways(weights, size, loops), size, rounds)


def write_store(prefix: str, num_documents: int) -> str:
    random = np.random.RandomState(0)
    lengths = random.randint(1, 1200, num_documents).astype(np.int32)
    with StoreWriter(prefix, np.dtype("<u2")) as writer:
        ids = random.randint(0, 50_000, lengths.sum()).astype("<u2")
        writer.add(ids, lengths, np.arange(1, lengths.size + 1))
    return prefix


def print_batches(folder: str, rounds: int) -> None:
    """TensorFlow comes last: its threads go on taking CPU time for a while."""
    print_head(f"Batches of {BATCH_SIZE} rows from a memory-mapped store", "tokens")
    for name, num_documents, make in (
        ("in NumPy", 40_000, batch_ways),
        ("in tf.data", 4000, tensorflow_ways),
    ):
        prefix = write_store(f"{folder}/{num_documents}", num_documents)
        for seq_length in (128, 2048):
            dataset = GptDataset(prefix, GptConfig(seq_length=seq_length))
            num_tokens = len(dataset) // BATCH_SIZE * BATCH_SIZE * seq_length
            title = f"samples of {seq_length}, {name}"
            measure(title, make(dataset, BATCH_SIZE), num_tokens, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"# GPT samples and blends\n\n{describe_machine()}\n\nThe median of {rounds} rounds.")
    with tempfile.TemporaryDirectory() as folder:
        loops = compile_c_loops(folder)
        print_indices(loops, rounds)
        print_blends(loops, rounds)
        print_batches(folder, rounds)


if __name__ == "__main__":
    main()
