"""The cost of the start of training: CPU time until the first step is done and saved.

    git worktree add /tmp/before REVISION
    python benchmarks/start_up.py --before=/tmp/before

Whole processes of both checkouts train a model for one step, in turn, with warm caches of kernels;
medians of their CPU seconds (user and system) and of the ratios of pairs are printed, and beside
them what `import tensorflow` alone costs. Without --before, only this checkout is measured.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from machine import describe_machine

_HERE = Path(__file__).resolve().parent.parent
_SIZES = {"2 layers": 2, "12 layers": 12}  # as the smallest and the base of Google's models
_WIDTH = 128
_VOCAB_SIZE, _LENGTH, _NUM_PREDICTIONS = 30522, 128, 20


def write_data(folder: Path) -> None:
    """Write records of random tokens, and the configurations of the models."""
    import tensorflow as tf

    random = np.random.default_rng(0)

    def integers(values: Sequence[int]) -> tf.train.Feature:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    with tf.io.TFRecordWriter(str(folder / "records.tfrecord")) as writer:
        for _ in range(64):
            ids = random.integers(0, _VOCAB_SIZE, _LENGTH)
            positions = np.sort(random.permutation(_LENGTH)[:_NUM_PREDICTIONS])
            weights = tf.train.FloatList(value=[1.0] * _NUM_PREDICTIONS)
            features = {
                "input_ids": integers(ids),
                "input_mask": integers([1] * _LENGTH),
                "segment_ids": integers([0] * 64 + [1] * 64),
                "masked_lm_positions": integers(positions),
                "masked_lm_ids": integers(ids[positions]),
                "masked_lm_weights": tf.train.Feature(float_list=weights),
                "next_sentence_labels": integers([0]),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    for name, layers in _SIZES.items():
        config = {
            "vocab_size": _VOCAB_SIZE, "hidden_size": _WIDTH, "num_hidden_layers": layers,
            "num_attention_heads": _WIDTH // 64, "intermediate_size": 4 * _WIDTH,
            "type_vocab_size": 2,
        }  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(config))


def cpu_seconds(command: list[str], checkout: Path) -> float:
    """Return the CPU seconds of a process."""
    process = subprocess.Popen(
        command,
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def train_once(checkout: Path, size: str, data: Path) -> float:
    """Return the CPU seconds of a training of one step."""
    with tempfile.TemporaryDirectory() as output:
        flags = [
            f"--bert_config_file={data}/{size}.json", f"--input_file={data}/records.tfrecord",
            f"--output_dir={output}", "--do_train", "--num_train_steps=1", "--num_warmup_steps=0",
            "--train_batch_size=1", "--log_every_steps=1",
        ]  # fmt: skip
        return cpu_seconds([sys.executable, "run_pretraining.py", *flags], checkout)


def measure(size: str, checkouts: list[Path], data: Path, runs: int) -> str:
    """Return one row of the table."""
    for checkout in checkouts:
        train_once(checkout, size, data)
    pairs = [[train_once(checkout, size, data) for checkout in checkouts] for _ in range(runs)]
    cells = [f"{statistics.median(column):.1f}" for column in zip(*pairs, strict=True)]
    ratio = statistics.median(pair[0] / pair[-1] for pair in pairs)
    return f"| {size} | {' | '.join(cells)} | {ratio:.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="a checkout of another revision")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    checkouts = [_HERE] if args.before is None else [_HERE, args.before.resolve()]
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder))
        print(f"{describe_machine()}. CPU seconds, medians of {args.runs} runs.\n")
        print(f"| model | {'now | before' if args.before else 'now'} | ratio |")
        print("|---" * (len(checkouts) + 2) + "|")
        for size in _SIZES:
            print(measure(size, checkouts, Path(folder), args.runs), flush=True)
        imports = [sys.executable, "-c", "import tensorflow"]
        seconds = [cpu_seconds(imports, _HERE) for _ in range(args.runs)]
        print(f"\n`import tensorflow` alone: {statistics.median(seconds):.1f}.")


if __name__ == "__main__":
    main()
