"""Batches of arrays: the same as tf.data's, without TensorFlow, on memory that is given back."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader import ReaderConfig, iterate_arrays, iterate_batches, read_batches
from bert_data.reader.layout import ALIGNMENT_BYTES
from tests.hypotheses import examples
from tests.reader.making import MAX_TOKENS, make_instances, write_shards
from tests.rows import mostly_slow

WITHOUT_TENSORFLOW = """
import sys
from bert_data.reader import ReaderConfig, iterate_arrays
for batching in ("stream", "pools", "packed"):
    config = ReaderConfig(
        input_patterns=sys.argv[1], batch_size=4, batching=batching, max_seq_length=12
    )
    assert list(iterate_arrays(config))[0]["input_ids"].dtype == "int32"
assert "tensorflow" not in sys.modules, "TensorFlow is loaded"
assert "bert_data.tokens.tokenizer_file" not in sys.modules, "all tokenizers are loaded"
"""


def config_of(patterns: str, **settings) -> ReaderConfig:
    return ReaderConfig(
        input_patterns=patterns, **{"batch_size": 4, "max_seq_length": MAX_TOKENS, **settings}
    )


@pytest.fixture(scope="module")
def patterns(tmp_path_factory) -> str:
    return write_shards(tmp_path_factory.mktemp("records"), 3, make_instances(41))


@pytest.mark.process
def test_neither_tensorflow_nor_tokenizers_are_loaded(patterns: str) -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_TENSORFLOW, patterns], check=True)


@mostly_slow("form", ["features", "supervised", "fit"])
@mostly_slow("batching", ["stream", "plain", "pools", "buckets", "packed"])
def test_the_same_batches_three_ways(patterns: str, batching: str, form: str) -> None:
    settings = {"batching": batching, "form": form, "shuffle": True, "num_epochs": 2}
    config = config_of(patterns, feature_names="tfhub", **settings)
    of_dataset = list(read_batches(config))
    of_arrays, of_tensors = list(iterate_arrays(config)), list(iterate_batches(config))
    assert len(of_dataset) == len(of_arrays) == len(of_tensors) > 2
    for expected, arrays, tensors in zip(of_dataset, of_arrays, of_tensors, strict=True):
        tf.nest.assert_same_structure(expected, arrays)
        tf.nest.assert_same_structure(expected, tensors)
        flat = map(tf.nest.flatten, (expected, arrays, tensors))
        for one, array, tensor in zip(*flat, strict=True):
            assert isinstance(array, np.ndarray)
            assert isinstance(tensor, type(tf.constant(1)))
            assert array.dtype == one.dtype.as_numpy_dtype == tensor.dtype.as_numpy_dtype
            np.testing.assert_array_equal(array, one)
            np.testing.assert_array_equal(tensor, one)


def test_tensors_outlive_the_iterator_and_the_batches_behind_them(patterns: str) -> None:
    """Memory that tensors share goes back to the pool with the last of them, and not before."""
    config = config_of(patterns, batch_size=512, num_epochs=40, width="max", batching="plain",
                       max_predictions_per_seq=4)  # fmt: skip
    kept = [batch["input_ids"] for batch in iterate_batches(config)]
    expected = [np.array(batch["input_ids"]) for batch in iterate_arrays(config)]
    for _ in iterate_arrays(config):  # takes what the pool has
        pass
    for tensor, array in zip(kept, expected, strict=True):
        np.testing.assert_array_equal(tensor, array)


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_tensors_are_aligned_whatever_the_shape(patterns: str, batch_size: int) -> None:
    """TensorFlow ends the process where a kernel meets a tensor that is not."""
    config = config_of(patterns, batch_size=batch_size, batching="pools")
    for batch in iterate_batches(config):
        for name, tensor in batch.items():
            address = np.asarray(memoryview(tensor)).ctypes.data
            assert address % ALIGNMENT_BYTES == 0, name


def test_a_mistake_is_raised_at_the_call(patterns: str) -> None:
    for iterate in (iterate_arrays, iterate_batches):
        with pytest.raises(ValueError, match="no file matches"):
            iterate(config_of(patterns + "nothing"))


@examples(20)
@given(st.integers(1, 3), st.integers(1, 30), st.booleans())
def test_a_start_at_the_end_leaves_nothing(
    patterns: str, epochs: int, batch_size: int, drop: bool
) -> None:
    changes = {"num_epochs": epochs, "drop_remainder": drop}
    config = config_of(patterns, batch_size=batch_size, **changes)
    num_batches = len(list(iterate_arrays(config)))
    at_end = dataclasses.replace(config, start_batch=num_batches)
    assert list(iterate_arrays(at_end)) == []
    behind = dataclasses.replace(config, start_batch=num_batches + 1)
    with pytest.raises(ValueError, match=f"is {num_batches + 1}, but there are {num_batches} bat"):
        list(iterate_arrays(behind))
