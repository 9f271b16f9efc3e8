"""The optimizer against the rule in NumPy, step by step."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_data.training.model import pretraining_model
from bert_data.training.optimizer import AdamWeightDecay, Lamb, WarmupLinearDecay
from tests.rows import mostly_slow
from tests.training.tiny import tiny_config


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (0, 0.0),
        (1, 1e-4 * 1 / 10),
        (9, 1e-4 * 9 / 10),
        (10, 1e-4 * (1 - 10 / 100)),  # the line has been falling all the time
        (50, 1e-4 * 0.5),
        (99, 1e-4 * 0.01),
        (100, 0.0),
        (150, 0.0),
    ],
)
def test_learning_rate_of_a_step(step: int, rate: float) -> None:
    schedule = WarmupLinearDecay(1e-4, num_train_steps=100, num_warmup_steps=10)
    assert float(schedule(tf.constant(step, tf.int64))) == pytest.approx(rate, rel=1e-5, abs=1e-12)


def test_without_warm_up_the_first_step_is_the_highest() -> None:
    assert float(WarmupLinearDecay(1e-4, 100)(0)) == pytest.approx(1e-4)


class Rule:
    """Google's update in float64: no bias correction, decay beside Adam, one norm for all.

    Or, as `is_lamb`, algorithm 2 of You et al. (2020) with phi(z) = z.
    """

    def __init__(
        self,
        weights: dict[str, keras.Variable],
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-6,
        decay: float = 0.01,
        clip_norm: float = 1.0,
        is_lamb: bool = False,
    ) -> None:
        self.weights = {name: value.numpy().astype(np.float64) for name, value in weights.items()}
        self.m = {name: 0 * value for name, value in self.weights.items()}
        self.v = {name: 0 * value for name, value in self.weights.items()}
        self.betas, self.epsilon, self.decay = betas, epsilon, decay
        self.clip_norm, self.is_lamb, self.t = clip_norm, is_lamb, 0

    def update(self, gradients: dict[str, np.ndarray], rate: float) -> float:
        """Update all weights; return the norm of the gradients."""
        self.t += 1
        norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients.values()))
        for name, weight in self.weights.items():
            gradient = gradients[name] * min(1.0, self.clip_norm / norm)
            (a, b), ratio = self.betas, 1.0
            self.m[name] = a * self.m[name] + (1 - a) * gradient
            self.v[name] = b * self.v[name] + (1 - b) * gradient**2
            m, v = self.m[name], self.v[name]
            if self.is_lamb:
                m, v = m / (1 - a**self.t), v / (1 - b**self.t)
            change = m / (np.sqrt(v) + self.epsilon)
            if "LayerNorm" not in name and "bias" not in name:
                change = change + self.decay * weight
            sizes = np.linalg.norm(weight), np.linalg.norm(change)
            if self.is_lamb and all(sizes):
                ratio = sizes[0] / sizes[1]
            self.weights[name] = weight - rate * ratio * change
        return norm

    def check_moments(self, slots: dict[str, keras.Variable]) -> None:
        for name in self.weights:
            np.testing.assert_allclose(slots[f"{name}/adam_m"].numpy(), self.m[name], atol=1e-6)
            np.testing.assert_allclose(slots[f"{name}/adam_v"].numpy(), self.v[name], atol=1e-6)


def random_gradients(weights: dict[str, keras.Variable], step: int) -> dict[str, np.ndarray]:
    """Small ones in odd steps, so that clipping is seen to spare them."""
    random = np.random.default_rng(step)
    size = 1e-3 if step % 2 else 1.0
    return {
        name: random.normal(0, size, variable.shape).astype(np.float32)
        for name, variable in weights.items()
    }


def test_equals_the_rule_step_by_step() -> None:
    weights = pretraining_model(tiny_config()).released_weights()
    optimizer = AdamWeightDecay(WarmupLinearDecay(0.1, 10, 2))
    optimizer.build(list(weights.values()))
    rule = Rule(weights)
    for step in range(6):
        gradients = random_gradients(weights, step)
        tensors = {name: tf.constant(gradient) for name, gradient in gradients.items()}
        # The table's gradient comes as slices, the row 3 twice: it must count twice in the norm.
        table = "bert/embeddings/word_embeddings"
        slices = tf.IndexedSlices(tf.constant(gradients[table][:4]), [3, 1, 3, 2], (11, 8))
        gradients[table] = tf.convert_to_tensor(slices).numpy()
        tensors[table] = slices
        optimizer.apply([tensors[name] for name in weights], list(weights.values()))
        rule.update(gradients, 0.1 * (step / 2 if step < 2 else 1 - step / 10))
        for name, variable in weights.items():
            # The operation computes 1 - beta_2 in float32, which is 5e-5 off 0.001.
            np.testing.assert_allclose(variable.numpy(), rule.weights[name], rtol=0, atol=1e-5)
    rule.check_moments(optimizer.named_slots(weights))
    assert int(optimizer.iterations.numpy()) == 6


def test_accumulated_batches_update_as_their_mean() -> None:
    first, second = (pretraining_model(tiny_config()).released_weights() for _ in range(2))
    schedule = WarmupLinearDecay(0.1, 4, 2)
    # Clipped, or without an epsilon, Adam would make the same step of their sum.
    plain, accumulating = (
        AdamWeightDecay(schedule, clip_norm=0, epsilon=0.1, gradient_accumulation_steps=steps)
        for steps in (None, 3)
    )
    table = "bert/embeddings/word_embeddings"
    for update in range(4):
        before = first[table].numpy()
        batches = [random_gradients(first, 10 * update + part) for part in range(3)]
        for part, gradients in enumerate(batches):
            np.testing.assert_array_equal(first[table].numpy(), before)
            assert int(accumulating.num_batches) == 3 * update + part
            accumulating.apply([tf.constant(g) for g in gradients.values()], list(first.values()))
        means = [np.mean([batch[name] for batch in batches], 0) for name in second]
        plain.apply([tf.constant(mean) for mean in means], list(second.values()))
        assert int(accumulating.iterations) == int(plain.iterations) == update + 1
        assert float(accumulating.learning_rate) == float(plain.learning_rate)
        for name, variable in first.items():
            np.testing.assert_allclose(variable, second[name], rtol=0, atol=1e-5)


def test_a_batch_that_overflows_spoils_only_its_own_update() -> None:
    variable = keras.Variable(np.ones(2, np.float32))
    optimizer = AdamWeightDecay(0.1, loss_scaling=True, gradient_accumulation_steps=2)
    states = []
    for gradient in (np.inf, 1.0, 1.0, 1.0):
        optimizer.apply([tf.fill([2], gradient)], [variable])
        states.append((float(optimizer.loss_scale) / 2**15, variable.numpy()[0] == 1.0))
    assert states == [(1, True), (0.5, True), (0.5, True), (0.5, False)]
    assert int(optimizer.num_good_steps) == 1


@pytest.mark.parametrize("steps", [0, 1, 2.5])
def test_refuses_steps_that_accumulate_nothing(steps: object) -> None:
    with pytest.raises(ValueError, match=r"gradient_accumulation_steps is .* allowed"):
        AdamWeightDecay(0.1, gradient_accumulation_steps=steps)


def test_what_decays_without_gradient() -> None:
    weights = pretraining_model(tiny_config()).released_weights()
    before = {name: variable.assign(variable + 1.0).numpy() for name, variable in weights.items()}
    optimizer = AdamWeightDecay(0.5)
    optimizer.apply([tf.zeros(v.shape) for v in weights.values()], list(weights.values()))
    for name, variable in weights.items():
        share = 1.0 if "LayerNorm" in name or "bias" in name else 1.0 - 0.5 * 0.01
        np.testing.assert_allclose(variable.numpy(), before[name] * share, rtol=1e-6)


def test_a_step_that_overflows_changes_nothing_but_the_scale() -> None:
    weights = pretraining_model(tiny_config()).released_weights()
    plain, scaled = AdamWeightDecay(0.1), AdamWeightDecay(0.1, loss_scaling=True)
    variables = list(weights.values())
    scaled.build(variables)
    gradients = [tf.constant(g) for g in random_gradients(weights, 0).values()]
    first = [v.numpy() for v in variables]
    broken = [gradients[0] * np.inf, *gradients[1:]]
    scaled.apply(broken, variables)
    for variable, value in zip(variables, first, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)
    scale = float(scaled.loss_scale.numpy())
    assert scale == 2.0**14 and int(scaled.iterations.numpy()) == 1
    assert float(scaled.scale_loss(tf.constant(3.0))) == 3.0 * scale
    scaled.apply([gradient * scale for gradient in gradients], variables)
    after = [v.numpy() for v in variables]
    for variable, value in zip(variables, first, strict=True):
        variable.assign(value)
    plain.apply(gradients, variables)
    for variable, value in zip(variables, after, strict=True):
        np.testing.assert_allclose(variable.numpy(), value, rtol=1e-5, atol=1e-7)


def test_the_scale_grows_after_many_good_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bert_data.training.optimizer.GROWTH_STEPS", 3)
    variable = keras.Variable(np.ones(2, np.float32))
    optimizer = AdamWeightDecay(0.1, loss_scaling=True)
    scales = []
    for _ in range(7):
        optimizer.apply([tf.ones(2)], [variable])
        scales.append(float(optimizer.loss_scale.numpy()) / 2**15)
    assert scales == [1, 1, 2, 2, 2, 4, 4]


def test_can_be_made_again_from_its_configuration() -> None:
    optimizer = AdamWeightDecay(WarmupLinearDecay(0.1, 10, 2), weight_decay=0.2, loss_scaling=True,
                                gradient_accumulation_steps=4)  # fmt: skip
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()
    assert float(again.learning_rate) == 0.0


def make_lamb(**changes: object) -> Lamb:
    settings = {"weight_decay": 0.1, "beta_1": 0.8, "beta_2": 0.99, "epsilon": 1e-4}
    return Lamb(WarmupLinearDecay(0.1, 10, 2), **{**settings, **changes})


@mostly_slow("clip_norm", [0.5, 0.0])
def test_equals_the_algorithm_update_by_update(clip_norm: float) -> None:
    """Biases begin at zero, where the ratio of norms is 1."""
    weights = pretraining_model(tiny_config(num_hidden_layers=1)).released_weights()
    optimizer = make_lamb(clip_norm=clip_norm)
    optimizer.build(list(weights.values()))
    algorithm = Rule(
        weights, betas=(0.8, 0.99), epsilon=1e-4, decay=0.1, clip_norm=clip_norm or np.inf,
        is_lamb=True,
    )  # fmt: skip
    random = np.random.default_rng(0)
    for step in range(6):
        gradients = {n: random.normal(0, 1, v.shape).astype("f4") for n, v in weights.items()}
        gradients["bert/pooler/dense/kernel"] *= 0  # decays, and nothing else
        gradients["bert/pooler/dense/bias"] *= 0  # stays zero
        optimizer.apply(list(map(tf.constant, gradients.values())), list(weights.values()))
        norm = algorithm.update(gradients, 0.1 * (step / 2 if step < 2 else 1 - step / 10))
        assert float(optimizer.gradient_norm.numpy()) == pytest.approx(norm, rel=1e-5)
        for name, variable in weights.items():
            np.testing.assert_allclose(
                variable.numpy(), algorithm.weights[name], rtol=1e-4, atol=1e-5, err_msg=name
            )
    slots = optimizer.named_slots(weights)
    algorithm.check_moments(slots)
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


def test_lamb_can_be_made_again_from_its_configuration() -> None:
    optimizer = make_lamb(clip_norm=3.0)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert isinstance(again, Lamb) and again.get_config() == optimizer.get_config()
