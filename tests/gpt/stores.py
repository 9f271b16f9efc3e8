"""Token stores for tests: of any documents, and of those that the golden arrays were made from."""

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bert_data.tokens.store import open_store
from bert_data.tokens.store_files import ENDINGS, StoreNotes, notes_path
from bert_data.tokens.store_writer import FileSummary, StoreWriter
from bert_data.tokens.vocabulary import VocabularyNote


def write_store(prefix: Path | str, stories: Iterable[Sequence[int]], dtype: str = "<u2") -> str:
    """A store of documents, also of empty ones (a sequence without tokens); returns its prefix."""
    with StoreWriter(str(prefix), np.dtype(dtype)) as writer:
        for story in stories:
            ids = np.array(story, dtype)
            writer.add(ids, np.array([ids.size], np.int32), np.array([1], np.int64))
    return str(prefix)


def write_notes(prefix: Path | str, *, eod_id: int | None, id_limit: int = 100) -> None:
    """Notes beside a store, as the command that tokenizes writes them."""
    contents = [Path(f"{prefix}.{ending}").read_bytes() for ending in ENDINGS]
    summaries = [FileSummary(num_bytes=len(each), crc32=zlib.crc32(each)) for each in contents]
    store = open_store(str(prefix))
    counts = {
        "num_documents": store.num_documents,
        "num_sentences": store.lengths.size,
        "num_tokens": store.ids.size,
        "num_unknown": 0,
    }
    notes = StoreNotes(
        vocabulary=VocabularyNote(size=id_limit, sha256=""),
        settings={
            "level": "document",
            "eod_id": eod_id,
            "id_limit": id_limit,
            "do_lower_case": None,
        },
        inputs=(),
        counts=counts,
        files=dict(zip(ENDINGS, summaries, strict=True)),
    )
    Path(notes_path(str(prefix))).write_text(notes.to_json())


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
