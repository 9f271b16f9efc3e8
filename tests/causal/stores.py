"""Token stores for tests: of any documents, and of those that the golden arrays were made from."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bert_data.tokens.store_writer import StoreWriter


def write_store(prefix: Path | str, stories: Iterable[Sequence[int]], dtype: str = "<u2") -> str:
    """A store of documents, also of empty ones (a sequence without tokens); returns its prefix."""
    with StoreWriter(str(prefix), np.dtype(dtype)) as writer:
        for story in stories:
            ids = np.array(story, dtype)
            writer.add(ids, np.array([ids.size], np.int32), np.array([1], np.int64))
    return str(prefix)


def golden_story(number: int) -> list[int]:
    """A document of the golden corpus, see goldens/megatron.json."""
    return [(number * 1009 + j * 31) % 50000 for j in range(golden_length(number))]


def golden_length(number: int) -> int:
    return number * 37 % 101 + 1


def assert_golden(array: np.ndarray, golden: dict[str, Any]) -> None:
    """Type, shape and every byte."""
    assert str(array.dtype) == golden["dtype"]
    assert list(array.shape) == golden["shape"]
    assert sha256(array) == golden["sha256"]


def sha256(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
