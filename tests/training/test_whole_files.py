"""A small file is wholly written or not at all."""

import os
from pathlib import Path

import pytest
import tensorflow as tf

from bert_data.training.whole_files import partial_name, write_whole


def test_a_file_is_replaced_by_one_that_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(str(tmp_path), "a.txt", "one")
    assert (tmp_path / "a.txt").read_text() == "one"

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tf.io.gfile, "rename", fail)
        with pytest.raises(KeyboardInterrupt):
            write_whole(str(tmp_path), "a.txt", "another")
    assert (tmp_path / "a.txt").read_text() == "one"
    assert (tmp_path / partial_name("a.txt")).read_text() == "another"
    write_whole(str(tmp_path), "a.txt", "two")
    assert (tmp_path / "a.txt").read_text() == "two"
    assert os.listdir(tmp_path) == ["a.txt"]
