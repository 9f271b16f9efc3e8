"""Errors about damaged files read the same, here and in another process."""

import pickle
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (None, "a/b.gz: byte offset 7: cut off"),
        (0, "a/b.gz: record 0, byte offset 7: cut off"),
        (3, "a/b.gz: record 3, byte offset 7: cut off"),
    ],
)
def test_the_sentence_survives_pickling(record: int | None, sentence: str) -> None:
    error = CorruptDataError(Path("a/b.gz"), 7, "cut off", record)
    assert not isinstance(error, ValueError)  # which would be a mistake of the caller
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert str(each) == sentence
        assert (each.path, each.offset, each.reason) == ("a/b.gz", 7, "cut off")
        assert each.record == record
