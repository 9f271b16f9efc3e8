"""Cards of exported models: what a training run left, and what nothing says."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from bert_data.hub import HuggingFaceExportConfig, export_hugging_face
from bert_data.hub.export_config import CARD
from bert_data.training.checkpoints import save_checkpoint
from tests.hub.exports import tiny_weights, write_model

SETTINGS = {
    "learning_rate": 0.01,
    "init_checkpoint": "/home/me/bert_model.ckpt",
    "continue_from": None,
    "stores": ["s3://bucket/key/web"],
}


def values_of(text: str) -> dict[str, str]:
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0].replace("\\", ""): row[1].replace("\\", "") for row in rows if len(row) == 2}


def export(folder: Path, **changes: object) -> Path:
    model = write_model(folder)
    config = {
        "init_checkpoint": model.checkpoint,
        "vocab_file": model.vocab_file,
        "output_dir": str(folder / "hf"),
    }
    export_hugging_face(HuggingFaceExportConfig(**{**config, **changes}))
    return folder / "hf" / CARD


@pytest.mark.slow
def test_what_training_left(tmp_path: Path) -> None:
    write_model(tmp_path)
    data = {"batch_size": 8, "shard 0": "train.tfrecord: 20 records, crc32c 0x1"}
    values = {
        **tiny_weights(),
        "global_step": np.int64(1234),
        "global_step/num_batches": np.int64(1250),
        "global_step/settings": np.array(json.dumps(SETTINGS), object),
        "global_step/data_description": np.array(json.dumps(data), object),
    }
    prefix = save_checkpoint(str(tmp_path), 1234, values, num_kept=1)
    lines = [{"step": step, "loss": step / 1000, "learning_rate": 1.0} for step in (1200, 1234)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "eval_results.txt").write_text("global_step = 1200\nloss = 9.0\n")
    card = export(tmp_path, init_checkpoint=prefix)
    text = card.read_text()
    found = values_of(text)
    assert (found["steps"], found["batches of data"]) == ("1,234", "1,250")
    assert found["checkpoint"] == "model.ckpt-1234" and found["vocabulary"] == "11 tokens"
    assert found["learning_rate"] == "0.01" and found["shard 0"] == data["shard 0"]
    assert found["loss"] == "1.234"  # not the evaluation of another step
    assert found["licence"] == "not known" and found["continue_from"] == "none"
    assert (found["init_checkpoint"], found["stores"]) == ("bert_model.ckpt", '["web"]')
    head = yaml.safe_load(text.split("---\n")[1])
    assert (head["library_name"], head["pipeline_tag"]) == ("transformers", "fill-mask")
    (tmp_path / "eval_results.txt").write_text("global_step = 1234\nloss = 9.5\n")
    export(tmp_path, init_checkpoint=prefix, overwrite=True)
    assert values_of(card.read_text())["loss"] == "9.5"
    card.write_text("Mine.")
    export(tmp_path, init_checkpoint=prefix, overwrite=True)
    assert card.read_text() == "Mine."


@pytest.mark.slow
def test_weights_alone_know_nothing(tmp_path: Path) -> None:
    text = export(tmp_path).read_text()
    for title in ("Training", "Data", "Evaluation"):
        assert f"## {title}\n\nNot known." in text
    found = values_of(text)
    assert found["steps"] == found["batches of data"] == "not known"
    assert str(tmp_path) not in text
