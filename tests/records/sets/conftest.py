"""Sets of the small text."""

from pathlib import Path

import pytest

from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig


@pytest.fixture
def create_set(small_text, small_vocabulary, tmp_path):
    """Makes a set in a new folder: create_set("a", "t@3", compression="gzip") -> its folder."""

    def make(folder: str, output: str = "t", **options) -> Path:
        config = {
            "input_file": str(small_text),
            "output_file": ",".join(str(tmp_path / folder / o) for o in output.split(",")),
            "vocab_file": str(small_vocabulary),
            "num_workers": 1,
        }
        create_dataset(DatasetConfig(**{**config, **options}))
        return tmp_path / folder

    return make
