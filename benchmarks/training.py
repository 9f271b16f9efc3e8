"""Training with each way to make batches of the same instances, as Markdown on standard output.

    python benchmarks/training.py > benchmarks/results/training.md

A small BERT (4 layers, hidden 256, 4 heads, intermediate 1024, the vocabulary of bert-base-uncased)
takes real steps, with dropout and optimizer, on this machine's CPU. The instances are the first
1,024 of ../shared/data/corpora/movie_reviews.txt at max_seq_length 512, exactly one pool of 64
batches; each way reads each of them once per pass, in the order of a shuffled epoch. A batch has 16
instances, with "packed" 16 on average. Ways:

* fixed: every row is padded to 512 tokens and 77 predictions.
* per-batch maximum: to the longest row of its batch.
* pools: 64 batches are sorted by length and cut, then mixed.
* buckets: a batch has rows of one of 8 widths, chosen for the least padding.
* packed: several instances per row of 512, which cannot attend to each other.

The ways take turns, one step each, so that other work on the machine affects all alike. A figure is
the median of the passes; "of fixed" is the median of the passes' ratios. Padding is the share of
positions without a token. Examples are instances; per CPU second counts the time of all threads of
the process. Reading is included; compiling is not, as each way takes an untimed step first.
"""

import argparse
import dataclasses
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

DATA = CHECKOUT.parent / "shared" / "data"
VOCAB = DATA / "vocab" / "bert-base-uncased.txt"
SEQ_LENGTH, PREDICTIONS = 512, 77
NUM_INSTANCES, BATCH_SIZE, POOL_BATCHES = 1024, 16, 64
FIXED, PACKED = "fixed", "packed"
MODEL = {
    "vocab_size": 30522,
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "type_vocab_size": 2,
}
Step = Callable[[], tuple[float, float]]


@dataclasses.dataclass(kw_only=True)
class Pass:
    """The figures of a way in a pass over the instances."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    examples: int = 0
    tokens: int = 0


def make_records(folder: str) -> str:
    """Writes the instances as records into `folder`; returns their path."""
    import tensorflow as tf

    from bert_data.records.instances.instance_config import InstanceConfig
    from bert_data.records.sets.creating import create_dataset
    from bert_data.records.sets.dataset_config import DatasetConfig

    create_dataset(
        DatasetConfig(
            input_file=str(DATA / "corpora" / "movie_reviews.txt"),
            output_file=f"{folder}/all",
            vocab_file=str(VOCAB),
            instances=InstanceConfig(
                dupe_factor=1, max_seq_length=SEQ_LENGTH, max_predictions_per_seq=PREDICTIONS
            ),
            num_examples=0,
        )
    )
    with tf.io.TFRecordWriter(f"{folder}/first") as writer:
        for record in tf.data.TFRecordDataset(f"{folder}/all").take(NUM_INSTANCES):
            writer.write(record.numpy())
    return f"{folder}/first"


def ways(path: str) -> dict[str, Any]:
    """The readers' configurations, by what the table calls them."""
    from bert_data.reader import ReaderConfig

    shared = ReaderConfig(
        input_patterns=path,
        batch_size=BATCH_SIZE,
        max_seq_length=SEQ_LENGTH,
        max_predictions_per_seq=PREDICTIONS,
        shuffle=True,
        seed=1,
        num_epochs=None,
    )
    changes_of: dict[str, dict[str, Any]] = {
        FIXED: {"batching": "plain", "width": "max"},
        "per-batch maximum": {"batching": "plain"},
        "pools": {"batching": "pools", "pool_batches": POOL_BATCHES},
        "buckets": {"batching": "buckets"},
        PACKED: {"batching": "packed"},
    }
    configs = {name: dataclasses.replace(shared, **changes) for name, changes in changes_of.items()}
    one_row = dataclasses.replace(configs[PACKED], batch_size=1, num_epochs=1)
    num_rows = sum(1 for _ in read(one_row))
    rows = round(BATCH_SIZE * num_rows / NUM_INSTANCES)
    configs[PACKED] = dataclasses.replace(configs[PACKED], batch_size=rows)
    return configs


def read(config: Any) -> Iterator[Any]:
    from bert_data.reader import read_batches

    return iter(read_batches(config))


def padding_of(config: Any) -> tuple[int, float, float]:
    """Batches of an epoch, their mean width, and the share of their tokens that is padding."""
    masks = [batch["input_mask"] for batch in read(dataclasses.replace(config, num_epochs=1))]
    num_tokens = sum(int(mask.numpy().sum()) for mask in masks)
    num_places = sum(int(mask.shape[0]) * int(mask.shape[1]) for mask in masks)
    width = statistics.mean(int(mask.shape[1]) for mask in masks)
    return len(masks), width, 1 - num_tokens / num_places


def trainer() -> Callable[[Iterator[Any]], Any]:
    """A function that does a step with an iterator's next batch; all ways train the same model."""
    import tensorflow as tf

    from bert_data import training
    from bert_data.training.steps import training_steps

    model = training.pretraining_model(training.BertConfig(**MODEL))
    optimizer = training.AdamWeightDecay(1e-4)
    optimizer.build(model.trainable_variables)
    run = training_steps(
        tf.distribute.get_strategy(),
        model,
        optimizer,
        stop_flag=tf.Variable(0.0),
        jit_compile=False,
    )
    return lambda iterator: run(iterator, tf.constant(1)).numpy()[0]


def measure(configs: dict[str, Any], num_batches: dict[str, int], num_passes: int) -> Any:
    """Trains with all ways in turns; returns the passes of each."""
    from bert_data.training.steps import STEP_COLUMNS

    step = trainer()
    for config in configs.values():
        step(read(config))
    iterators = {name: read(config) for name, config in configs.items()}
    passes: dict[str, list[Pass]] = {name: [] for name in configs}
    for pass_number in range(num_passes):
        print(f"pass {pass_number + 1} of {num_passes}", file=sys.stderr, flush=True)
        for done in passes.values():
            done.append(Pass())
        for number in range(max(num_batches.values())):
            for name, iterator in iterators.items():
                if number >= num_batches[name]:
                    continue
                start, cpu_start = time.perf_counter(), time.process_time()
                values = dict(zip(STEP_COLUMNS, step(iterator), strict=True))
                now = passes[name][-1]
                now.seconds += time.perf_counter() - start
                now.cpu_seconds += time.process_time() - cpu_start
                now.examples += int(values["num_examples"])
                now.tokens += int(values["num_tokens"])
        done_now = {(done[-1].examples, done[-1].tokens) for done in passes.values()}
        assert len(done_now) == 1 and done_now.pop()[0] == NUM_INSTANCES, done_now
    return passes


def print_table(
    configs: dict[str, Any], padding: dict[str, tuple[int, float, float]], passes: Any
) -> None:
    print(
        "| way | batches of rows | mean width | padding | examples/s | of fixed "
        "| examples per CPU second | of fixed |\n|---|---|---|---|---|---|---|---|"
    )
    for name, config in configs.items():
        num_batches, width, share = padding[name]
        figures = []
        for clock in ("seconds", "cpu_seconds"):
            speeds, fixed = (
                [done.examples / getattr(done, clock) for done in passes[way]]
                for way in (name, FIXED)
            )
            ratios = [ours / theirs for ours, theirs in zip(speeds, fixed, strict=True)]
            figures.append(f"{statistics.median(speeds):.2f} | {statistics.median(ratios):.2f}")
        rows = f"{num_batches} of {config.batch_size}"
        print(f"| {name} | {rows} | {width:.0f} | {share:.1%} | {' | '.join(figures)} |")


def print_results(
    configs: dict[str, Any], padding: dict[str, tuple[int, float, float]], passes: Any
) -> None:
    num_passes, tokens = len(passes[FIXED]), passes[FIXED][0].tokens
    of = "one pass" if num_passes == 1 else f"the median of {num_passes} passes"
    print(f"# Training\n\n{describe_machine()}\n")
    print(
        f"{NUM_INSTANCES:,} instances of {tokens / NUM_INSTANCES:.0f} tokens on average; {of}. Load"
        f" average of the machine in the last quarter of an hour: {os.getloadavg()[2]:.1f}.\n"
    )
    print_table(configs, padding, passes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=3)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("training.py: error: needs ../shared/data beside the checkout")
    with tempfile.TemporaryDirectory() as folder:
        configs = ways(make_records(folder))
        padding = {name: padding_of(config) for name, config in configs.items()}
        num_batches = {name: count for name, (count, _, _) in padding.items()}
        passes = measure(configs, num_batches, arguments.passes)
    print_results(configs, padding, passes)


if __name__ == "__main__":
    main()
