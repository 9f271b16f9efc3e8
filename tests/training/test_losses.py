"""Each prediction counts by its weight, whatever the shapes of batches."""

import numpy as np
import pytest

from bert_data.training.losses import WeightedAccuracy


def test_each_prediction_counts_once() -> None:
    random = np.random.default_rng(0)
    metric = WeightedAccuracy()
    hits = total = 0.0
    for rows, predictions in ((2, 3), (4, 1), (1, 7)):
        scores = random.random((rows, predictions, 4), np.float32)
        labels = random.integers(0, 4, (rows, predictions))
        weights = random.integers(0, 2, (rows, predictions)).astype(np.float32)
        metric.update_state(labels, scores, weights)
        hits += ((scores.argmax(-1) == labels) * weights).sum()
        total += weights.sum()
    assert float(metric.result()) == pytest.approx(hits / total)


def test_without_weights_all_count() -> None:
    metric = WeightedAccuracy()
    metric.update_state(np.array([[1], [0], [1]]), np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]))
    assert float(metric.result()) == pytest.approx(2 / 3)
