"""Train a classifier of texts: fastText's supervised model, written as its .bin.

    train_classifier(config, "model.bin")
      texts --spool_texts--> words --WordTable--> dictionary --write_rows--> rows of each text
      --train_texts, once an epoch--> vectors --write_bin--> model.bin

A model is that of fastText's `train_supervised` with a single thread (Joulin et al. 2016, "Bag of
tricks for efficient text classification"), whatever the number of threads here, but for the order
of additions: its bytes depend on the texts, their order, the configuration and the processor's
rounding alone.
"""

import itertools
import os
import struct
from collections.abc import Sequence
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.classifier_config import LOSSES, ClassifierConfig
from bert_data.curation.classifying.descent import Descent, Texts, write_rows
from bert_data.curation.classifying.fasttext_kernels import LABEL, KernelSettings
from bert_data.curation.classifying.fasttext_model import (
    ENTRY,
    MAGIC,
    SUPERVISED,
    dictionary_arrays,
)
from bert_data.curation.classifying.held_out import (
    TrainedClassifier,
    chance_loss,
    find_cuts,
    judge_labels,
)
from bert_data.curation.classifying.training_texts import (
    SpooledTexts,
    WordFrequencies,
    WordTable,
    spool_texts,
)
from bert_data.progress import progress, size
from bert_data.storage import OutputSet
from bert_data.work import Executor, count_workers, open_threads

_VERSION = 12
_CHUNK_ROWS = 1 << 16


# Arguments of fastText's other models, at its defaults.
_WINDOW, _NEGATIVES, _RATE_TOKENS, _SAMPLING = 5, 5, 100, 1e-4


def _write_bin(
    file: IO[bytes],
    config: ClassifierConfig,
    names: WordFrequencies,
    num_tokens: int,
    descent: Descent,
) -> None:
    """Write a model, plain and unpruned; `names` are those of words and then of labels."""
    num_names, num_labels = len(names.counts), len(descent.outputs)
    num_words = num_names - num_labels
    file.write(struct.pack("<2i", MAGIC, _VERSION))
    file.write(struct.pack("<4i", config.dimension, _WINDOW, config.epochs, config.min_count))
    loss = LOSSES[config.loss]
    file.write(struct.pack("<4i", _NEGATIVES, config.word_ngrams, loss, SUPERVISED))
    characters = config.min_characters, config.max_characters
    file.write(struct.pack("<4id", config.num_buckets, *characters, _RATE_TOKENS, _SAMPLING))
    file.write(struct.pack("<3i2q", num_names, num_words, num_labels, num_tokens, -1))
    data, bounds = names.names.tobytes(), itertools.pairwise(names.ends.tolist())
    entries = zip(bounds, names.counts.tolist(), strict=True)
    for number, ((start, end), count) in enumerate(entries):
        file.write(data[start:end] + b"\0" + ENTRY.pack(count, number >= num_words))
    for matrix in descent.vectors, descent.outputs:
        file.write(struct.pack("<?2q", False, *matrix.shape))
        for start in range(0, len(matrix), _CHUNK_ROWS):
            chunk = matrix[start : start + _CHUNK_ROWS]
            file.write(chunk.astype("<f4", copy=False).data)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def train_classifier(config: ClassifierConfig, path: str, *, overwrite: bool) -> TrainedClassifier:
    """Train a model and write it.

    Needs some memory for each different word (150 bytes and its own), and 4 bytes for each number
    of the model: 0.9 GB with 2,000,000 buckets and 100 dimensions. Texts lie on the disk, beside
    the model, as words and as the numbers of their n-grams.

    Raises:
      ValueError: a text cannot be used, a label has none, no word is frequent enough, or the
        training diverged.
    """
    reads = [name for each in config.classes for name in each.files]
    with OutputSet(path, [path], reads=reads, overwrite=overwrite) as outputs:
        texts = _by_frequency(spool_texts(config, os.path.join(outputs.work_dir, "words")))
        if len(texts.labels) < 2:
            raise ValueError(
                f"the only label is {texts.labels[0]!r}; two or more must occur in the texts"
            )
        trained, names, num_tokens, descent = _train(config, texts, outputs.work_dir)
        with outputs.open(path) as file:
            _write_bin(file, config, names, num_tokens, descent)
        outputs.commit([path])
    return trained


def _by_frequency(texts: SpooledTexts) -> SpooledTexts:
    """Number the labels by the number of their texts, the most frequent first."""
    counts = np.bincount(texts.targets, minlength=len(texts.labels))
    order = np.argsort(-counts, kind="stable")
    places = np.argsort(order).astype(np.int32)
    labels = tuple(texts.labels[number] for number in order)
    return texts._replace(labels=labels, targets=places[texts.targets])


def _train(
    config: ClassifierConfig, texts: SpooledTexts, folder: str
) -> tuple[TrainedClassifier, WordFrequencies, int, Descent]:
    """Train on texts; return words and labels, the number of tokens, and the model, too."""
    order, held_out = _split(config, texts)
    words, num_tokens = _count_words(config, texts, order)
    names = _with_labels(words, texts.labels, np.bincount(texts.targets[order]))
    settings = KernelSettings(
        min_characters=config.min_characters,
        max_characters=config.max_characters,
        word_ngrams=config.word_ngrams,
        num_buckets=config.num_buckets,
        loss=LOSSES[config.loss],
    )
    num_words = len(words.counts)
    arrays = dictionary_arrays(settings, num_words, names.names, names.ends)
    none = np.zeros(len(held_out), np.int64)
    with open_threads(count_workers(config.num_workers)) as executor:
        rows = write_rows(texts, order, num_tokens, arrays, f"{folder}/rows", executor)
        held_out_rows = write_rows(texts, held_out, none, arrays, f"{folder}/held_out", executor)
        descent = _begin(config, num_words, len(texts.labels), executor)
    loss = descent.train(rows, epochs=config.epochs, learning_rate=config.learning_rate)
    if not descent.is_finite():
        raise ValueError(
            f"learning_rate is {config.learning_rate}, and the training diverged: numbers"
            " became infinite; choose a smaller one"
        )
    trained = _describe(config, texts, descent, held_out_rows, loss, num_words)
    return trained, names, int(num_tokens.sum()), descent


def _begin(
    config: ClassifierConfig, num_words: int, num_labels: int, executor: Executor
) -> Descent:
    """Draw the first vectors."""
    num_rows = num_words + config.num_buckets
    num_bytes = 4 * num_rows * config.dimension
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if num_bytes > memory:
        raise ValueError(
            f"buckets is {config.buckets:,} and dimension {config.dimension:,}: with {num_words:,}"
            f" words, the model has {size(num_bytes)}, and this machine has {size(memory)}; choose"
            " smaller ones, or a larger min_count"
        )
    return Descent(
        num_rows, num_labels, config.dimension, LOSSES[config.loss], config.seed, executor
    )


def _count_words(
    config: ClassifierConfig, texts: SpooledTexts, order: NDArray[np.int64]
) -> tuple[WordFrequencies, NDArray[np.int64]]:
    """Return the words of the texts to train on, and the number of tokens of each text."""
    table, num_tokens = WordTable(), np.empty(len(order), np.int64)
    with progress("count words", total=len(order), unit="text") as advance:
        for place, text in enumerate(order.tolist()):
            data = texts.data[texts.ends[text] : texts.ends[text + 1]]
            num_tokens[place] = table.count(data) + 1  # its label
            advance(1)
    words = table.most_frequent(config.min_count)
    if len(words.counts) <= 1:  # the end of a text
        raise ValueError(
            f"min_count is {config.min_count:,}, and no word of the {len(order):,} texts to train"
            " on occurs as often; choose a smaller one"
        )
    return words, num_tokens


def _describe(
    config: ClassifierConfig,
    texts: SpooledTexts,
    descent: Descent,
    held_out: Texts,
    loss: float,
    num_words: int,
) -> TrainedClassifier:
    """Judge the held-out texts, and describe how well the model does."""
    is_pair = config.label_field is None and len(texts.labels) == 2
    first = texts.labels.index(config.classes[0].label) if is_pair else 0
    judged, scores = descent.judge(held_out, first)
    targets = held_out.targets
    return TrainedClassifier(
        labels=texts.labels,
        num_texts=tuple(np.bincount(texts.targets).tolist()),
        num_skipped=texts.num_skipped,
        num_words=num_words,
        loss=loss,
        chance_loss=chance_loss(LOSSES[config.loss], len(texts.labels)),
        qualities=judge_labels(texts.labels, targets, judged) if len(targets) else (),
        cuts=find_cuts(targets == first, scores) if is_pair else (),
    )


def _with_labels(
    words: WordFrequencies, labels: Sequence[str], counts: NDArray[np.int64]
) -> WordFrequencies:
    """Return the words, followed by the labels."""
    names = [f"{LABEL}{label}".encode() for label in labels]
    ends = words.ends[-1] + np.cumsum([len(name) for name in names])
    return WordFrequencies(
        np.concatenate([words.names, np.frombuffer(b"".join(names), np.uint8)]),
        np.concatenate([words.ends, ends]).astype(np.int32),
        np.concatenate([words.counts, counts]),
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
