"""The vocabulary of `looking`, in the folder of a test."""

from pathlib import Path

import pytest

from bert_data.inspection.readable_ids import TokenNames, load_words
from tests.inspection.looking import write_vocabulary


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    return write_vocabulary(tmp_path)


@pytest.fixture
def words(vocabulary: Path) -> TokenNames:
    return load_words(str(vocabulary))
