"""A token store that another program truncates while it is read: an error, no SIGBUS."""

import io
import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.reader.planning.epoch import Parts
from bert_data.recipes.recipe import Recipe, Stage
from bert_data.recipes.recipe_run import START, Run
from bert_data.recipes.window_filler import Filler
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.instances.making import make_instances
from bert_data.tokens.store import open_store
from bert_data.tokens.vocabulary import load_vocabulary
from tests.recipes.stores import write_sentences, write_vocabulary

SENTENCES = [[40] * 50] * 400  # 1.6 MB of tokens, many pages


class Spool(io.BytesIO):
    """Truncates a file when the first rows are written."""

    name = "spool"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def write(self, data) -> int:
        os.truncate(self.path, self.path.stat().st_size // 2)
        return super().write(data)


@pytest.mark.parametrize("ending", ["bin", "idx"])
def test_instances(tmp_path, ending):
    prefix = write_sentences(tmp_path / "s", SENTENCES)
    vocabulary = load_vocabulary(write_vocabulary(tmp_path))
    path = tmp_path / f"s.{ending}"
    with pytest.raises(CorruptDataError, match=r"has been truncated to .* while") as told:
        make_instances(
            open_store(prefix),
            vocabulary,
            InstanceConfig(max_seq_length=64),
            Spool(path),
            max_store_bytes=1 << 21,
        )
    assert told.value.path == str(path)


@pytest.mark.parametrize("ending", ["bin", "idx"])
@pytest.mark.parametrize("num_stores", [1, 2])
@pytest.mark.parametrize("batching", ["pools", "packed"])
def test_batches_of_recipes(tmp_path, batching, num_stores, ending):
    names = "ab"[:num_stores]
    for name in names:
        write_sentences(tmp_path / name, SENTENCES)
    recipe = Recipe(
        stores={name: str(tmp_path / name) for name in names},
        vocab_file=write_vocabulary(tmp_path),
        stages=[Stage(epochs={"a": 9}, max_seq_length=64, batch_size=8, batching=batching)],
    )
    run = Run(recipe)
    windows = run.planned(START)
    window, planned, _ = next(windows)
    filler, numbers = Filler(run, window, planned, Parts(1, 0, 1)), np.array([0])
    rows = filler.rows(numbers)
    assert np.count_nonzero(filler.fill(numbers, rows).words)
    path = tmp_path / f"{names[-1]}.{ending}"
    os.truncate(path, path.stat().st_size // 2)
    for read in (lambda: filler.fill(numbers, rows), lambda: next(windows)):
        with pytest.raises(CorruptDataError, match="has been truncated to") as told:
            read()
        assert told.value.path == str(path)
