"""Keras finds the saved classes by their names, in a process that imported the package alone."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from bert_data import training
from bert_data.training import pretraining_model
from tests.training.tiny import tiny_config

PROGRAM = """
import importlib.util, sys
import bert_data.training
loader = importlib.util.find_spec("keras").loader
assert "keras" not in sys.modules and "tensorflow" not in sys.modules
import keras
assert keras.__file__ == loader.get_filename() and type(keras.__loader__) is not type(loader)
assert "bert_data.training.model" not in sys.modules
model = keras.models.load_model(sys.argv[1])
print(type(model).__name__, model.config.vocab_size, float(model.get_weights()[0].sum()))
"""


def test_all_registered_classes_are_listed() -> None:
    classes = {getattr(training, name) for name in training.SAVED_CLASSES}
    registered = {
        each
        for name, each in keras.saving.get_custom_objects().items()
        if name.startswith("bert_data>")
        and isinstance(each, type)  # not what stands for one of `bert_data.hub` until it is loaded
        and each.__module__.startswith("bert_data.training")
    }
    assert registered == classes


@pytest.mark.process
def test_another_process_needs_one_import(tmp_path: Path, checkout: Path) -> None:
    model = pretraining_model(tiny_config())
    model.save(tmp_path / "model.keras")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "model.keras")],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    )  # fmt: skip
    name, size, total = done.stdout.split()
    assert (name, int(size)) == ("PretrainingModel", 11)
    assert float(total) == float(model.get_weights()[0].sum())
