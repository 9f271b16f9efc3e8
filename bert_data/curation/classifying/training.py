"""Train a classifier of texts: fastText's supervised model, by the library, written as its .bin.

    train_and_measure(config, "model.bin")
      texts --spool_texts--> lines --_split--> train.txt, held_out.txt
      --fasttext_program--> model.bin, and the label that it gives to each held-out text

The model is that of fastText's `train_supervised` (Joulin et al. 2016, "Bag of tricks for efficient
text classification") with a single thread: with more of them, no two runs give the same model.
"""

import errno
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.classifier_config import ClassifierConfig
from bert_data.curation.classifying.fasttext_kernels import LABEL, Arrays
from bert_data.curation.classifying.fasttext_model import read_arrays
from bert_data.curation.classifying.held_out import TrainedClassifier, find_cuts, judge_labels
from bert_data.curation.classifying.training_texts import SpooledTexts, spool_texts
from bert_data.errors import CorruptDataError
from bert_data.packages import load_package
from bert_data.progress import size
from bert_data.storage import OutputSet, allowed_memory, open_scratch

_PROGRAM = Path(__file__).with_name("fasttext_program.py")
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# With one thread fastText draws a tenth of the vectors, and leaves the others as the memory was;
# glibc's malloc clears it with this setting.
_CLEARED = {"MALLOC_PERTURB_": "255"}
_MODEL = "model.bin"
_LEAST = 1e-5  # that fastText adds to each share


class _Judged(NamedTuple):
    """What a model says of texts: the likeliest label, the shares of its own and of the first."""

    labels: list[str]
    of_target: NDArray[np.float64]
    of_first: NDArray[np.float64]


def train_and_measure(config: ClassifierConfig, path: str, *, overwrite: bool) -> TrainedClassifier:
    """Train a model and write it.

    Needs 4 bytes for each number of the model: 0.8 GB with 2,000,000 buckets and 100 dimensions.
    Texts lie on the disk, beside the model, twice.

    Raises:
      ValueError: the library is missing, a text cannot be used, a label has none, no word is
        frequent enough, or the training diverged.
    """
    _check_library()
    _check_memory(config)
    reads = [name for each in config.classes for name in each.files]
    with OutputSet(path, [path], reads=reads, overwrite=overwrite) as outputs:
        folder = outputs.work_dir
        texts = spool_texts(config, os.path.join(folder, "lines"))
        if len(texts.labels) < 2:
            raise ValueError(
                f"the only label is {texts.labels[0]!r}; two or more must occur in the texts"
            )
        order, held_out = _split(config, texts)
        for name, numbers in (("train.txt", order), ("held_out.txt", held_out)):
            with open_scratch(os.path.join(folder, name)) as file:
                texts.write(file, numbers)
        judged = _train(config, folder, texts.labels[0], len(order))
        model = _read_model(config, os.path.join(folder, _MODEL), path)
        trained = _describe(config, texts, model, held_out, judged)
        outputs.take_in(path, os.path.join(folder, _MODEL))
        outputs.commit([path])
    return trained


def _check_library() -> None:
    try:
        library = load_package("fasttext", "train-classifier", extra="classifier")
    except ValueError as error:
        is_compiled = sys.version_info >= (3, 13)  # for which it has no wheels
        compiler = "; that compiles it and needs a C++ compiler" if is_compiled else ""
        raise ValueError(f"{error}{compiler}") from None
    if not hasattr(library, "train_supervised"):
        raise ValueError(
            "train-classifier needs fastText, but the package fasttext-predict, which cannot train,"
            " has replaced it; pip install --force-reinstall --no-deps fasttext-numpy2-wheel"
            " restores it"
        )


def _check_memory(config: ClassifierConfig) -> None:
    if config.word_ngrams == 1 and not config.max_characters:
        return
    num_bytes = 4 * config.buckets * config.dimension
    memory = allowed_memory()
    if num_bytes > memory:
        raise ValueError(
            f"buckets is {config.buckets:,} and dimension {config.dimension:,}: the model has"
            f" {size(num_bytes)}, and this machine has {size(memory)}; choose smaller ones"
        )


def _train(config: ClassifierConfig, folder: str, first: str, num_texts: int) -> _Judged:
    """Let fastText train on train.txt of a folder, write the model, and judge held_out.txt."""
    model = os.path.join(folder, _MODEL)
    arguments = json.dumps(_arguments(config) | {"input": os.path.join(folder, "train.txt")})
    with open_scratch(os.path.join(folder, "held_out.txt"), "rb") as texts:
        done = subprocess.run(
            [sys.executable, "-P", "-X", "utf8", str(_PROGRAM), arguments, model, LABEL + first],
            stdin=texts,
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, **_CLEARED},
            check=False,
        )
    error = done.stderr.strip().rpartition("\n")[2]
    if "no words" in error:
        raise ValueError(
            f"min_count is {config.min_count:,}, and no word of the {num_texts:,} texts to train on"
            " occurs as often; choose a smaller one"
        )
    if "NaN" in error:
        raise _diverged(config)
    if done.returncode < 0:
        raise ChildProcessError(f"fastText was ended by signal {-done.returncode}")
    if done.returncode:
        raise RuntimeError(f"fastText failed: {error}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    labels, *shares = zip(*rows, strict=True) if rows else ((), (), ())
    return _Judged([name.removeprefix(LABEL) for name in labels], *map(np.array, shares))


def _diverged(config: ClassifierConfig) -> ValueError:
    return ValueError(
        f"learning_rate is {config.learning_rate}, and the training diverged; choose a smaller one"
    )


def _read_model(config: ClassifierConfig, path: str, final_path: str) -> Arrays:
    """Read a model, whose file may be cut short, as fastText does not notice that it is."""
    try:
        return read_arrays(path)
    except CorruptDataError as damage:
        if "not finite" in damage.reason:
            raise _diverged(config) from None
        reason = "fastText has not written the whole model"
        raise OSError(errno.ENOSPC, reason, final_path) from damage


def _arguments(config: ClassifierConfig) -> dict[str, Any]:
    return {
        "dim": config.dimension,
        "epoch": config.epochs,
        "lr": config.learning_rate,
        "wordNgrams": config.word_ngrams,
        "minn": config.min_characters,
        "maxn": config.max_characters,
        "minCount": config.min_count,
        "bucket": config.buckets,
        "loss": config.loss,
        "seed": config.seed,
        "thread": 1,
        "verbose": 0,
    }


def _describe(
    config: ClassifierConfig,
    texts: SpooledTexts,
    model: Arrays,
    held_out: NDArray[np.int64],
    judged: _Judged,
) -> TrainedClassifier:
    counts = np.bincount(texts.targets)
    order = np.argsort(-counts, kind="stable").tolist()
    numbers = {label: number for number, label in enumerate(texts.labels)}
    best = np.array([numbers.get(label, -1) for label in judged.labels], np.int32)
    targets = texts.targets[held_out]
    qualities = judge_labels(texts.labels, targets, best)
    is_pair = config.label_field is None and len(texts.labels) == 2
    return TrainedClassifier(
        labels=tuple(texts.labels[number] for number in order),
        num_texts=tuple(counts[order].tolist()),
        num_skipped=texts.num_skipped,
        num_words=model.settings.num_words,
        loss=float(-np.log(np.maximum(judged.of_target, _LEAST)).mean()) if len(targets) else None,
        chance_loss=math.log(len(texts.labels) if config.loss == "softmax" else 2),
        qualities=tuple(qualities[number] for number in order) if len(targets) else (),
        cuts=find_cuts(targets == 0, judged.of_first) if is_pair else (),
    )


def _split(
    config: ClassifierConfig, texts: SpooledTexts
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the texts to train on, and of those that are held out, in any order.

    Of each label, the same share is held out, rounded down.
    """
    order = np.argsort(_draw(len(texts.targets), config.seed), kind="stable")
    targets = texts.targets[order]
    is_held_out = np.zeros(len(order), bool)
    for label in range(len(texts.labels)):
        places = np.flatnonzero(targets == label)
        is_held_out[places[: int(config.held_out * len(places))]] = True
    return order[~is_held_out], order[is_held_out]


def _draw(count: int, seed: int) -> NDArray[np.uint64]:
    """Return random numbers (splitmix64)."""
    x = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
