"""Numbers of NumPy and paths in configurations."""

from pathlib import Path

import numpy as np

from bert_data.causal import GptConfig
from bert_data.plain_values import plain
from bert_data.reader import ReaderConfig
from bert_data.training.training_config import TrainingConfig


def test_numbers_of_numpy_and_paths_become_those_of_python():
    values = (np.int64(3), np.float64(0.5), np.bool_(True), Path("a/b"), [np.int8(1)], "x", None)
    converted = [plain(value) for value in values]
    assert converted == [3, 0.5, True, "a/b", [1], "x", None]
    assert [type(value) for value in converted[:4]] == [int, float, bool, str]


def test_configurations_take_them():
    reader = ReaderConfig(input_patterns=[Path("a/b")], batch_size=np.int64(8), seed=np.uint8(3))
    assert reader == ReaderConfig(input_patterns=["a/b"], batch_size=8, seed=3)
    assert reader.patterns == ("a/b",)
    config = TrainingConfig(output_dir=Path("out"), learning_rate=np.float64(0.5))
    assert (config.output_dir, type(config.learning_rate)) == ("out", float)
    assert GptConfig(seq_length=np.int32(8), cache_dir=Path("c")).cache_dir == "c"
