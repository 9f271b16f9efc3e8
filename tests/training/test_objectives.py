"""What is learned of two segments: the next sentence, their order, or nothing."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.training import (
    AdamWeightDecay,
    TrainingConfig,
    evaluate,
    latest_checkpoint,
    load_pretrained,
    pretraining_model,
    train,
)
from bert_data.training.model import PretrainingModel
from bert_data.training.steps import TrainingReport
from tests.training.tiny import batches_of, pack, random_batch, tiny_config

OF_SEGMENTS = ("bert/pooler/dense/", "cls/seq_relationship/")
CONFIG = tiny_config(num_hidden_layers=1)
Batch = dict[str, np.ndarray]


def without_labels(batch: Batch) -> Batch:
    return {name: values for name, values in batch.items() if not name.startswith("next_sentence")}


def run(
    folder: Path, batch: Batch, next_sentence: str, num_steps: int = 4
) -> tuple[PretrainingModel, TrainingReport]:
    reports: list[TrainingReport] = []
    config = TrainingConfig(
        output_dir=str(folder), num_train_steps=num_steps, batch_size=4, num_warmup_steps=0,
        learning_rate=1e-2, next_sentence=next_sentence,
    )  # fmt: skip
    model = train(config, CONFIG, batches_of(batch, 4), observers=[reports.append])
    return model, reports[-1]


@pytest.mark.slow
def test_without_labels_the_masked_words_alone_are_learned(tmp_path: Path) -> None:
    batch = without_labels(random_batch())
    model, report = run(tmp_path, batch, "none")
    before = pretraining_model(CONFIG).released_weights()
    for name, variable in model.released_weights().items():
        stays = np.array_equal(variable.numpy(), before[name].numpy())
        assert stays == name.startswith(OF_SEGMENTS), name
    assert set(model(batch)) == set(report.last_losses) == {"masked_lm"}
    assert report.losses[-1] == report.last_losses["masked_lm"] > 0
    assert report.num_examples == 3 * 4  # the first step has a report of its own
    results = evaluate(model, [batch])
    assert set(results) == {"loss", "masked_lm_accuracy", "masked_lm_loss"}
    assert results["loss"] == pytest.approx(results["masked_lm_loss"], rel=1e-4)


@pytest.mark.slow
def test_its_checkpoint_has_what_released_ones_have_and_goes_on(tmp_path: Path) -> None:
    batch = without_labels(random_batch())
    model, _ = run(tmp_path / "whole", batch, "none")
    prefix = latest_checkpoint(str(tmp_path / "whole"))
    names = dict(tf.train.list_variables(prefix))
    assert set(pretraining_model(CONFIG).released_weights()) <= set(names)
    assert not any(name.startswith(OF_SEGMENTS) and name.endswith("adam_m") for name in names)
    loaded = load_pretrained(str(tmp_path / "whole"))
    for name, variable in loaded.released_weights().items():
        np.testing.assert_array_equal(variable.numpy(), model.released_weights()[name].numpy())
    _, report = run(tmp_path / "whole", batch, "none", num_steps=6)
    assert (report.step, len(report.losses)) == (6, 1)


@pytest.mark.slow
def test_order_is_learned_as_the_next_sentence_is_under_its_own_name(tmp_path: Path) -> None:
    batch = random_batch()
    all_losses, all_results = [], []
    for objective, task in (("nsp", "next_sentence"), ("sop", "sentence_order")):
        model, report = run(tmp_path / objective, batch, objective)
        assert set(model(batch)) == set(report.last_losses) == {"masked_lm", task}
        all_losses.append(report.losses[-1])
        results = evaluate(model, [batch])
        assert results[f"{task}_loss"] > 0 and len(results) == 5
        all_results.append([results[f"{task}_{name}"] for name in ("loss", "accuracy")])
    assert all_losses[0] == all_losses[1]
    assert all_results[0] == all_results[1]


def test_packed_rows_without_labels_give_what_the_instances_give_alone() -> None:
    model = pretraining_model(CONFIG, next_sentence="none")
    examples = random_batch(num_examples=6)
    packed = without_labels(pack(examples, [[0, 4], [1], [2, 5, 3]], width=28))
    expected = evaluate(model, [without_labels(examples)])
    assert evaluate(model, [packed]) == pytest.approx(expected, rel=1e-5)


def test_labels_that_are_missing_or_of_something_else_are_told(tmp_path: Path) -> None:
    batch = without_labels(random_batch())
    with pytest.raises(ValueError, match="no next_sentence_labels, which the model needs for"):
        run(tmp_path, batch, "sop")
    model = pretraining_model(CONFIG, next_sentence="none")
    model.compile(AdamWeightDecay(1e-2))
    labels = {"masked_lm": batch["masked_lm_ids"], "next_sentence": np.zeros((4, 1), np.int32)}
    weights = {"masked_lm": batch["masked_lm_weights"], "next_sentence": np.ones(4, np.float32)}
    data = tf.data.Dataset.from_tensors((batch, labels, weights))
    with pytest.raises(ValueError, match="labels for masked_lm and next_sentence, but the model"):
        model.fit(data, verbose=0)
    with pytest.raises(ValueError, match="next_sentence is 'other'; it must be one of"):
        pretraining_model(CONFIG, next_sentence="other")


@pytest.mark.parametrize("next_sentence", ["sop", "none"])
def test_the_history_of_fit_has_the_tasks_names(next_sentence: str) -> None:
    model = pretraining_model(CONFIG, next_sentence=next_sentence)
    model.compile(AdamWeightDecay(1e-2))
    batch = random_batch()
    labels = {"masked_lm": batch["masked_lm_ids"]}
    weights = {"masked_lm": batch["masked_lm_weights"]}
    if next_sentence == "sop":
        labels["sentence_order"] = batch["next_sentence_labels"]
        weights["sentence_order"] = np.ones(4, np.float32)
    data = tf.data.Dataset.from_tensors((without_labels(batch), labels, weights))
    history = model.fit(data, verbose=0).history
    assert set(history) == {"loss", *(f"{task}_accuracy" for task in labels)}
