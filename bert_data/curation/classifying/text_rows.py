"""Turn spooled texts into the rows of the vectors that they are made of, as training needs them.

    b"<the> <cat> " ...  +  the dictionary  ->  int32 rows in a file, the end of each text's

Texts are written in the order of training, so that every epoch reads the file from start to end.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_kernels import Arrays, list_rows, max_rows
from bert_data.curation.classifying.fasttext_training import Texts
from bert_data.curation.classifying.training_texts import SpooledTexts
from bert_data.curation.classifying.word_counting import LEAST_WRAPPED
from bert_data.kernels import Constants, kernel
from bert_data.progress import progress
from bert_data.storage import load_values, open_scratch
from bert_data.work import Executor

_RUN_BYTES = 1 << 20


class _Run(NamedTuple):
    """Texts of a run, and where each ends in its own bytes."""

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]


def write_rows(
    texts: SpooledTexts,
    order: NDArray[np.int64],
    num_tokens: NDArray[np.int64],
    model: Arrays,
    path: str,
    executor: Executor,
) -> Texts:
    """Write the rows of texts to a file, and map it.

    Args:
      order: int64 [some], numbers of the texts.
      num_tokens: int64 [some], of each of them.
      path: of the file, in the run's work folder.
    """
    constants = Constants((model,))

    def list_run(run: _Run) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        most = max_rows(model.settings, len(run.data), len(run.data) // LEAST_WRAPPED)
        listed = np.empty(most + len(run.ends) * model.settings.word_ngrams, np.int32)
        hashes = np.empty(len(run.data) // LEAST_WRAPPED + 1, np.int32)
        ends = np.empty(len(run.ends), np.int64)
        _list_texts(run.data, run.ends, constants, hashes, listed, ends)
        return listed[: ends[-1]], ends

    sizes = []
    with (
        open_scratch(path) as file,
        progress("list n-grams", total=len(order), unit="text") as advance,
    ):
        for listed, ends in executor.ordered_map(list_run, _cut(texts, order)):
            file.write(listed.tobytes())
            sizes.append(np.diff(ends, prepend=0))
            advance(len(ends))
    all_ends = np.concatenate([np.zeros(1, np.int64), *sizes]).cumsum()
    return Texts(
        rows=load_values(path, np.int32) if all_ends[-1] else np.zeros(0, np.int32),
        ends=all_ends,
        targets=texts.targets[order],
        num_tokens=num_tokens,
    )


def _cut(texts: SpooledTexts, order: Iterable[int]) -> Iterator[_Run]:
    """Yield texts in runs of about `_RUN_BYTES`, or of a longer text."""
    parts: list[NDArray[np.uint8]] = []
    size = 0
    for text in order:
        part = texts.data[texts.ends[text] : texts.ends[text + 1]]
        if parts and size + len(part) > _RUN_BYTES:
            yield _make_run(parts)
            parts, size = [], 0
        parts.append(part)
        size += len(part)
    if parts:
        yield _make_run(parts)


def _make_run(parts: Sequence[NDArray[np.uint8]]) -> _Run:
    return _Run(np.concatenate(parts), np.cumsum([len(part) for part in parts], dtype=np.int64))


@kernel
def _list_texts(
    data: NDArray[np.uint8],
    ends: NDArray[np.int64],
    model: tuple[Arrays],
    hashes: NDArray[np.int32],
    listed: NDArray[np.int32],
    listed_ends: NDArray[np.int64],
) -> None:
    """List the rows of texts, one after the other.

    Args:
      ends: [texts], the end of each.
      hashes: see `list_rows`.
      listed_ends: [texts], receives the end of each text's rows.
    """
    start, num_listed = 0, 0
    for text in range(len(ends)):
        rest = listed[num_listed:]
        num_listed += list_rows(data[start : ends[text]], model[0], hashes, rest)
        listed_ends[text], start = num_listed, ends[text]
