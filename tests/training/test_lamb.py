"""LAMB against its algorithm in float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_data.training.lamb import Lamb
from bert_data.training.model import named_weights, pretraining_model
from bert_data.training.optimizer import WarmupLinearDecay
from tests.training.tiny import tiny_config


class Algorithm:
    """Algorithm 2 of You et al. (2020) with phi(z) = z; one global norm clips all gradients."""

    def __init__(self, weights: dict[str, np.ndarray], clip_norm: float) -> None:
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}
        self.m = {name: 0 * value for name, value in self.weights.items()}
        self.v = {name: 0 * value for name, value in self.weights.items()}
        self.clip_norm, self.t = clip_norm, 0

    def update(self, gradients: dict[str, np.ndarray], rate: float) -> None:
        self.t += 1
        norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients.values()))
        for name, weight in self.weights.items():
            g = gradients[name] * min(1.0, self.clip_norm / norm)
            self.m[name] = 0.8 * self.m[name] + 0.2 * g
            self.v[name] = 0.99 * self.v[name] + 0.01 * g**2
            m, v = self.m[name] / (1 - 0.8**self.t), self.v[name] / (1 - 0.99**self.t)
            u = m / (np.sqrt(v) + 1e-4)
            if "LayerNorm" not in name and "bias" not in name:
                u = u + 0.1 * weight
            sizes = np.linalg.norm(weight), np.linalg.norm(u)
            self.weights[name] = weight - rate * (sizes[0] / sizes[1] if all(sizes) else 1) * u


def make_lamb(**changes: object) -> Lamb:
    settings = {"weight_decay": 0.1, "beta_1": 0.8, "beta_2": 0.99, "epsilon": 1e-4}
    return Lamb(WarmupLinearDecay(0.1, 10, 2), **{**settings, **changes})


@pytest.mark.parametrize("clip_norm", [0.5, 0.0])
def test_equals_the_algorithm_update_by_update(clip_norm: float) -> None:
    """Biases begin at zero, where the ratio of norms is 1."""
    weights = named_weights(pretraining_model(tiny_config(num_hidden_layers=1)))
    optimizer = make_lamb(clip_norm=clip_norm)
    optimizer.build(list(weights.values()))
    algorithm = Algorithm({n: v.numpy() for n, v in weights.items()}, clip_norm or np.inf)
    random = np.random.default_rng(0)
    for step in range(6):
        gradients = {n: random.normal(0, 1, v.shape).astype("f4") for n, v in weights.items()}
        gradients["bert/pooler/dense/kernel"] *= 0  # decays, and nothing else
        gradients["bert/pooler/dense/bias"] *= 0  # stays zero
        optimizer.apply(list(map(tf.constant, gradients.values())), list(weights.values()))
        algorithm.update(gradients, 0.1 * (step / 2 if step < 2 else 1 - step / 10))
        norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients.values()))
        assert float(optimizer.gradient_norm.numpy()) == pytest.approx(norm, rel=1e-5)
        for name, variable in weights.items():
            np.testing.assert_allclose(
                variable.numpy(), algorithm.weights[name], rtol=1e-4, atol=1e-5, err_msg=name
            )
    slots = optimizer.named_slots(weights)
    for name in weights:
        np.testing.assert_allclose(slots[f"{name}/adam_m"].numpy(), algorithm.m[name], atol=1e-6)
        np.testing.assert_allclose(slots[f"{name}/adam_v"].numpy(), algorithm.v[name], atol=1e-6)
    assert float(slots["global_step/num_updates"].numpy()) == 6


def test_overflows_do_not_count_for_the_bias_correction() -> None:
    first = np.array([3.0, 4.0], np.float32)
    weights = [keras.Variable(first) for _ in range(2)]
    plain, scaled = Lamb(0.1), Lamb(0.1, loss_scaling=True)
    plain.apply([tf.constant([1.0, -2.0])], weights[:1])
    scaled.apply([tf.constant([np.inf, 0.0])], weights[1:])
    np.testing.assert_array_equal(weights[1].numpy(), first)
    assert np.isinf(scaled.gradient_norm.numpy())
    scale = float(scaled.loss_scale.numpy())
    scaled.apply([tf.constant([1.0, -2.0]) * scale], weights[1:])
    np.testing.assert_allclose(weights[1].numpy(), weights[0].numpy(), rtol=1e-6)
    assert int(scaled.iterations.numpy()) == 2 and float(scaled.num_updates.numpy()) == 1


def test_can_be_made_again_from_its_configuration() -> None:
    optimizer = make_lamb(clip_norm=3.0)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert isinstance(again, Lamb) and again.get_config() == optimizer.get_config()
