"""A data set that is opened again from a snapshot gives the same samples."""

import numpy as np
import pytest

from bert_data.causal import GptConfig, build_datasets
from bert_data.causal.snapshot import open_snapshot, take_snapshot
from tests.causal.stores import write_store


@pytest.mark.parametrize("num_stores", [1, 2])
@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("has_been_read", [True, False])
def test_the_same_samples(tmp_path, num_stores, is_kept, has_been_read):
    stories = [range(number, number + 9) for number in range(50)]
    prefixes = [write_store(tmp_path / name, stories) for name in "ab"[:num_stores]]
    cache_dir = str(tmp_path / "cache") if is_kept else None
    config = GptConfig(seq_length=5, cache_dir=cache_dir, split="8,2")
    dataset, _, _ = build_datasets(prefixes, config, weights=[1] * num_stores, num_samples=[150])
    assert dataset is not None
    if has_been_read:
        dataset.batch([0])
    snapshot = take_snapshot(dataset)
    assert len(snapshot.head) < 5000
    snapshot.save(str(tmp_path))
    opened = open_snapshot(str(tmp_path))
    assert (len(opened), opened.config, opened.split) == (len(dataset), config, "train")
    numbers = range(len(dataset))
    for values, expected in zip(opened.batch(numbers), dataset.batch(numbers), strict=True):
        assert np.array_equal(values, expected)
    again = take_snapshot(opened)
    assert again.arrays_sha256() == snapshot.arrays_sha256()
    other, _, _ = build_datasets(
        prefixes, GptConfig(seq_length=5, seed=1), weights=[1] * num_stores, num_samples=[150]
    )
    assert other is not None
    assert take_snapshot(other).arrays_sha256() != snapshot.arrays_sha256()
