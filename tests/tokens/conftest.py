"""Fixtures for stores of text."""

import pytest

from bert_data.tokens.store_making import StoreConfig


@pytest.fixture
def config(tmp_path, small_text, small_vocabulary) -> StoreConfig:
    return StoreConfig(
        input_file=str(small_text),
        output_prefix=str(tmp_path / "out" / "s"),
        vocab_file=str(small_vocabulary),
    )
