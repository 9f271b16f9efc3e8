"""Configurations take the flags of their fields' names; lists are numbers."""

import dataclasses

import pytest
from absl import flags

from bert_data.cli.flag_values import from_flags, numbers_of
from bert_data.cli.tokenizer_flags import define_tokenizer_flags
from bert_data.datasets.config import DatasetConfig
from bert_data.tokens.store_making import StoreConfig

COVERS = ("cli/tokenizer_flags",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Has a field of a flag, one that is passed, and one that no flag is named for."""

    tokenizer_file: str | None = None
    tokenizer_backend: str = "a default"
    no_such_flag: int = 7


@pytest.fixture(autouse=True)
def parsed() -> None:
    define_tokenizer_flags()
    flags.FLAGS(["program", "--tokenizer_file=0.7,3", "--tokenizer_backend=tokenizers"])


def test_fields_are_flags_arguments_or_defaults():
    config = from_flags(Config, tokenizer_backend="auto")
    assert config == Config(tokenizer_file="0.7,3", tokenizer_backend="auto", no_such_flag=7)


def test_flags_of_the_tokenizer_are_fields_of_configurations():
    for config in (DatasetConfig, StoreConfig):
        fields = {field.name for field in dataclasses.fields(config)}
        assert {"tokenizer_file", "tokenizer_backend"} <= fields


def test_numbers():
    assert numbers_of("tokenizer_file", float) == [0.7, 3]
    with pytest.raises(ValueError, match=r"--tokenizer_file is '0\.7,3'; whole numbers, comma-sep"):
        numbers_of("tokenizer_file", int)
    flags.FLAGS["tokenizer_file"].value = None
    assert numbers_of("tokenizer_file", int) is None
