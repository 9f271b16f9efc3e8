"""Google's metrics against NumPy."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.training.evaluation import evaluate, write_results
from bert_data.training.model import named_weights, pretraining_model
from tests.training import numpy_bert
from tests.training.tiny import random_batch, tiny_config


def test_metrics_are_means_over_predictions_and_examples() -> None:
    model = pretraining_model(tiny_config(hidden_dropout_prob=0.5))
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    batches = [random_batch(num_examples=6, seed=1), random_batch(num_examples=3, width=7, seed=2)]
    sums = np.zeros(6)
    totals = []
    for batch in batches:
        outputs = numpy_bert.forward(weights, batch, num_layers=2, num_heads=2, act="gelu")
        words, answers = numpy_bert.example_losses(outputs, batch)
        w, labels = batch["masked_lm_weights"], batch["next_sentence_labels"][:, 0]
        hits = outputs["masked_lm"].argmax(-1) == batch["masked_lm_ids"]
        right = outputs["next_sentence"].argmax(-1) == labels
        sums += w.sum(), (w * words).sum(), (w * hits).sum(), len(w), answers.sum(), right.sum()
        totals.append(sum(numpy_bert.losses(outputs, batch)))
    results = evaluate(model, batches)
    assert results == {
        "loss": pytest.approx(np.mean(totals), rel=1e-5),
        "masked_lm_accuracy": pytest.approx(sums[2] / sums[0]),
        "masked_lm_loss": pytest.approx(sums[1] / sums[0], rel=1e-5),
        "next_sentence_accuracy": pytest.approx(sums[5] / sums[3]),
        "next_sentence_loss": pytest.approx(sums[4] / sums[3], rel=1e-5),
    }


def test_nothing_to_evaluate_on_is_told() -> None:
    with pytest.raises(ValueError, match="not one batch"):
        evaluate(pretraining_model(tiny_config()), [])


def test_results_are_sorted_lines_and_curves(tmp_path: Path) -> None:
    write_results(str(tmp_path), 40, {"masked_lm_loss": 2.5, "loss": 3.25})
    lines = (tmp_path / "eval_results.txt").read_text().splitlines()
    assert lines == ["global_step = 40", "loss = 3.25", "masked_lm_loss = 2.5"]
    (events,) = (tmp_path / "eval").iterdir()
    points = {
        value.tag: (event.step, tf.make_ndarray(value.tensor).item())
        for event in tf.compat.v1.train.summary_iterator(str(events))
        for value in event.summary.value
    }
    assert points == {"masked_lm_loss": (40, 2.5), "loss": (40, 3.25)}
