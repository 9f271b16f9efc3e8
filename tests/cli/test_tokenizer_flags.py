"""The flags are read after parsing, and name the arguments of configurations."""

import dataclasses

from absl import flags

from bert_data.cli.tokenizer_flags import define_tokenizer_flags
from bert_data.datasets.config import DatasetConfig
from bert_data.tokens.store_making import StoreConfig


def test_values_are_arguments_of_configurations():
    values = define_tokenizer_flags()
    flags.FLAGS(["program", "--tokenizer_file=t.json", "--tokenizer_backend=tokenizers"])
    assert values() == {"tokenizer_file": "t.json", "tokenizer_backend": "tokenizers"}
    for config in (DatasetConfig, StoreConfig):
        assert values().keys() <= {field.name for field in dataclasses.fields(config)}
