r"""One classifier trained on batches of fixed length, of their longest text, and planned.

    python benchmarks/ragged_text.py > benchmarks/results/ragged_text.md
    python benchmarks/ragged_text.py --task=documents --seeds=3 \
        --plot=benchmarks/results/ragged_documents.png > benchmarks/results/ragged_documents.md

This is the experiment of "Variable-Length Sequences in TensorFlow Part 2" (ten trainings each;
1423 s with fixed and 1260 s with variable length, at 55.31% and 55.59%), with a third way: batches
planned from the lengths of all texts. The plot lies beside the table, or where --plot says.

There are two tasks of real text, with equally many texts per class. Sentences: from which of four
corpora of ../shared/data/corpora is it? Film reviews, an encyclopedia, State of the Union messages
or inaugural addresses. Documents: a negative review, a positive one (the first and the second half
of movie_reviews.txt), or a section of the encyclopedia. The last fifth of each class is the test
set, the rest is for training. A vocabulary is trained on the training texts.

All trainings run in one process, the ways in turn for each seed, which determines the weights and
the order of the records. A time is that of `model.fit` over all epochs, after a first step that
compiles and is undone; CPU seconds are of all threads and suffer less from a busy machine.
"""

import argparse
import dataclasses
import os
import statistics
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

CORPORA = CHECKOUT.parent / "shared" / "data" / "corpora"
REVIEWS, ENCYCLOPEDIA = "movie_reviews.txt", "wikitext.txt"
MESSAGES, ADDRESSES = "state_union.txt", "inaugural.txt"
MIN_WORDS = 20  # of a document; shorter ones are headings and the like
VOCAB_SIZE, BATCH_SIZE, LEARNING_RATE = 8000, 32, 4e-4
FIXED, LONGEST, PLANNED = "fixed length", "longest of the batch", "planned"
WAYS = (FIXED, LONGEST, PLANNED)


@dataclasses.dataclass(frozen=True)
class Task:
    """Texts to classify."""

    name: str
    max_length: int
    texts_of: Callable[[], dict[str, list[str]]]
    num_train: int
    num_test: int
    pool_batches: int


@dataclasses.dataclass(frozen=True)
class Training:
    """The cost and the result of one training."""

    seconds: float
    cpu_seconds: float
    accuracy: float


def sentences_of_corpora() -> dict[str, list[str]]:
    files = {
        "review": REVIEWS,
        "encyclopedia": ENCYCLOPEDIA,
        "message": MESSAGES,
        "address": ADDRESSES,
    }
    lines = {name: (CORPORA / file).read_text(encoding="utf-8") for name, file in files.items()}
    return {name: [s for s in text.split("\n") if s.strip()] for name, text in lines.items()}


def documents_of_corpora() -> dict[str, list[str]]:
    reviews, sections = (
        (CORPORA / file).read_text(encoding="utf-8").strip("\n").split("\n\n")
        for file in (REVIEWS, ENCYCLOPEDIA)
    )
    half = len(reviews) // 2
    texts = {"negative": reviews[:half], "positive": reviews[half:], "encyclopedia": sections}
    return {name: [t for t in of if len(t.split()) >= MIN_WORDS] for name, of in texts.items()}


def write_texts(folder: str, task: Task) -> tuple[str, ...]:
    """Writes train.tsv and test.tsv, evenly spaced texts of each class; returns the classes."""
    parts: dict[str, list[str]] = {"train": [], "test": []}
    classes = task.texts_of()
    for name, texts in classes.items():
        cut = len(texts) * 4 // 5
        for part, num_texts, pool in (
            ("train", task.num_train, texts[:cut]),
            ("test", task.num_test, texts[cut:]),
        ):
            count = num_texts // len(classes)
            chosen = [pool[i * len(pool) // count] for i in range(count)]
            parts[part] += [f"{' '.join(text.split())}\t{name}" for text in chosen]
    for part, rows in parts.items():
        text = "\n".join(["text\tlabel", *rows]) + "\n"
        Path(folder, f"{part}.tsv").write_text(text, encoding="utf-8")
    plain = "\n".join(row.split("\t")[0] for row in parts["train"])
    Path(folder, "train.txt").write_text(plain + "\n", encoding="utf-8")
    return tuple(classes)


def make_records(folder: str, classes: tuple[str, ...]) -> None:
    """Learns the vocabulary and writes the records of both parts."""
    from bert_data.datasets.labelled_set import LabelledDatasetConfig, create_labelled_dataset
    from bert_data.objectives.labels import LabelConfig
    from bert_data.tokens.vocabulary_training import VocabularyTrainingConfig, train_vocabulary

    config = VocabularyTrainingConfig(
        input_files=(f"{folder}/train.txt",),
        vocab_size=VOCAB_SIZE,
        do_lower_case=True,
        work_dir=f"{folder}/words",
    )
    tokens = train_vocabulary(config).tokens
    Path(folder, "vocab.txt").write_text("".join(f"{t}\n" for t in tokens), encoding="utf-8")
    for part in ("train", "test"):
        create_labelled_dataset(
            LabelledDatasetConfig(
                input_file=f"{folder}/{part}.tsv",
                output_file=f"{folder}/{part}@2",
                vocab_file=f"{folder}/vocab.txt",
                labels=LabelConfig(kind="class", classes=classes),
            )
        )


def source_of(folder: str, task: Task, way: str, *, seed: int = 0, part: str = "train") -> Any:
    from bert_data.reader.labelled.batches import LabelledReaderConfig, LabelledSource
    from bert_data.reader.planning import PlanConfig

    return LabelledSource(
        LabelledReaderConfig(
            input_patterns=f"{folder}/{part}-*",
            num_epochs=None if part == "train" else 1,
            plan=PlanConfig(
                batch_size=BATCH_SIZE,
                max_seq_length=task.max_length,
                width="max" if way == FIXED else "batch",
                shuffle=part == "train",
                seed=seed,
                batching="pools" if way == PLANNED else "plain",
                pool_batches=task.pool_batches,
            ),
        )
    )


def train(folder: str, task: Task, way: str, seed: int) -> Training:
    """Trains once and measures on the test part."""
    from bert_data.reader.labelled.batches import read_labelled_batches
    from bert_data.training import AdamWeightDecay, BertConfig, WarmupLinearDecay
    from bert_data.training.classifier import text_classifier

    source = source_of(folder, task, way, seed=seed)
    num_steps = source.plan.num_batches
    config = BertConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        max_position_embeddings=task.max_length,
        type_vocab_size=2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.06,
    )
    model = text_classifier(config, num_labels=source.num_labels, random_seed=seed)
    model.compile(AdamWeightDecay(WarmupLinearDecay(LEARNING_RATE, num_steps, num_steps // 10)))
    batches = read_labelled_batches(source)
    model.optimizer.build(model.trainable_variables)
    variables = [*model.variables, *model.optimizer.variables]
    before = [variable.numpy() for variable in variables]
    model.fit(batches, steps_per_epoch=1, verbose=0)
    for variable, value in zip(variables, before, strict=True):
        variable.assign(value)
    start, cpu_start = time.perf_counter(), time.process_time()
    model.fit(batches, steps_per_epoch=num_steps, verbose=0)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    test = read_labelled_batches(source_of(folder, task, PLANNED, part="test"))
    _, accuracy = model.evaluate(test, verbose=0)
    return Training(seconds, cpu_seconds, accuracy)


def epoch_of(folder: str, task: Task, way: str) -> tuple[list[int], float]:
    """The widths of the batches of an epoch, and the share of padding."""
    plan = source_of(folder, task, way).plan
    epoch = plan.epoch(0)
    return epoch.widths.tolist(), 1 - plan.num_tokens / epoch.num_padded_tokens


def mean_and_deviation(values: list[float]) -> tuple[float, float]:
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def print_table(results: dict[str, list[Training]], padding: dict[str, float]) -> None:
    print(
        "| batches | padding | mean seconds | times faster | CPU seconds | times faster "
        "| test accuracy |\n|---|---|---|---|---|---|---|"
    )
    fixed = [statistics.mean(times) for times in (_clock(results[FIXED]), _cpu(results[FIXED]))]
    for way, trainings in results.items():
        seconds, deviation = mean_and_deviation(_clock(trainings))
        cpu_seconds, cpu_deviation = mean_and_deviation(_cpu(trainings))
        accuracy, spread = mean_and_deviation([100 * t.accuracy for t in trainings])
        print(
            f"| {way} | {100 * padding[way]:.1f}% | {seconds:.1f} ± {deviation:.1f} "
            f"| {fixed[0] / seconds:.2f} | {cpu_seconds:.1f} ± {cpu_deviation:.1f} "
            f"| {fixed[1] / cpu_seconds:.2f} | {accuracy:.2f}% ± {spread:.2f} |"
        )


def _clock(trainings: list[Training]) -> list[float]:
    return [t.seconds for t in trainings]


def _cpu(trainings: list[Training]) -> list[float]:
    return [t.cpu_seconds for t in trainings]


def draw(axes: Any, task: Task, results: dict[str, list[Training]], widths: Any) -> None:
    """Times and accuracies of all trainings, and how wide the batches of an epoch are."""
    times, accuracy, shown = axes
    for place, (way, trainings) in enumerate(results.items()):
        color = f"C{place}"
        seconds = _cpu(trainings)
        times.bar(place, statistics.mean(seconds), color=color, alpha=0.4)
        times.scatter([place] * len(seconds), seconds, color=color, s=12)
        reached = [100 * t.accuracy for t in trainings]
        accuracy.hlines(statistics.mean(reached), place - 0.3, place + 0.3, color=color)
        accuracy.scatter([place] * len(reached), reached, color=color, s=12)
        bins = [task.max_length * i // 32 + 1 for i in range(33)]
        shown.hist(widths[way], bins=bins, color=color, alpha=0.6, label=way)
    for each in (times, accuracy):
        each.set_xticks(range(len(results)), [way.replace(" of", "\nof") for way in results])
    times.set_ylabel("CPU seconds of a training")
    accuracy.set_ylabel("test accuracy, %")
    shown.set_xlabel("width of a batch, tokens")
    shown.set_ylabel("batches of an epoch")
    shown.set_yscale("log")
    shown.legend()


def report(folder: str, task: Task, results: dict[str, list[Training]], plot: str) -> None:
    """Prints the table and draws the plot."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    source = source_of(folder, task, LONGEST)
    plan, num_seeds = source.plan, len(results[FIXED])
    print(
        f"# The same classifier with fixed, variable and planned length: {task.name}\n\n"
        f"{describe_machine()}\n\n"
        f"{plan.num_records:,} {task.name} ({', '.join(source.classes)}) of "
        f"{plan.num_tokens / plan.num_records:.1f} tokens on average, [CLS] and [SEP] included and "
        f"cut off at {task.max_length}; {task.num_test:,} for the test. One epoch of batches of "
        f"{BATCH_SIZE}, two layers of 128, {num_seeds} seeds. Planned: sorted pools of "
        f"{task.pool_batches} batches.\n"
    )
    epochs = {way: epoch_of(folder, task, way) for way in WAYS}
    print_table(results, {way: padding for way, (_, padding) in epochs.items()})
    figure, axes = pyplot.subplots(1, 3, figsize=(13, 3.8))
    draw(axes, task, results, {way: widths for way, (widths, _) in epochs.items()})
    figure.tight_layout()
    figure.savefig(plot, dpi=110)
    print(f"\n![times, accuracies, widths]({Path(plot).name})")


TASKS = {
    "sentences": Task("sentences", 128, sentences_of_corpora, 9600, 3200, 64),
    "documents": Task("documents", 512, documents_of_corpora, 1920, 480, 8),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=sorted(TASKS), default="sentences")
    parser.add_argument("--seeds", type=int, default=10, help="trainings of each way")
    parser.add_argument("--plot", default=str(CHECKOUT / "benchmarks/results/ragged_text.png"))
    arguments = parser.parse_args()
    if not CORPORA.is_dir():
        sys.exit("ragged_text.py: error: needs ../shared/data beside the checkout")
    task = TASKS[arguments.task]
    with tempfile.TemporaryDirectory() as folder:
        make_records(folder, write_texts(folder, task))
        results: dict[str, list[Training]] = {way: [] for way in WAYS}
        for seed in range(arguments.seeds):
            for way in WAYS:
                results[way].append(train(folder, task, way, seed))
                print(f"seed {seed}, {way}: {results[way][-1]}", file=sys.stderr, flush=True)
        report(folder, task, results, arguments.plot)


if __name__ == "__main__":
    main()
