"""The model against an independent forward pass, and what must not change its results."""

import re

import numpy as np
import pytest
import tensorflow as tf

from bert_data.training.config import ACTIVATIONS
from bert_data.training.encoder import dropout
from bert_data.training.losses import pretraining_losses
from bert_data.training.model import PretrainingModel, pretraining_model, step_seed
from tests.training import numpy_bert
from tests.training.tiny import random_batch, tiny_config

COVERS = ("training/model",)


def model_with_random_weights(**changes: object) -> PretrainingModel:
    """All weights random, also biases and LayerNorm's, so that each is seen in the result."""
    model = pretraining_model(tiny_config(**changes))
    random = np.random.default_rng(5)
    for variable in model.released_weights().values():
        variable.assign(random.normal(0.3, 0.5, variable.shape))
    return model


def losses_of(model: PretrainingModel, batch: dict[str, np.ndarray]) -> tuple[float, float]:
    logits = model({name: tf.constant(value) for name, value in batch.items()})
    losses = pretraining_losses(
        logits["masked_lm"],
        tf.constant(batch["masked_lm_ids"]),
        tf.constant(batch["masked_lm_weights"]),
        logits["next_sentence"],
        tf.constant(batch["next_sentence_labels"]),
    )
    return float(losses.masked_lm), float(losses.segments)


@pytest.mark.parametrize("act", ACTIVATIONS)
def test_equals_the_forward_pass_in_numpy(act: str) -> None:
    model = model_with_random_weights(hidden_act=act)
    batch = random_batch()
    weights = {name: variable.numpy() for name, variable in model.released_weights().items()}
    expected = numpy_bert.forward(weights, batch, num_layers=2, num_heads=2, act=act)
    hidden, pooled = model.encoder(batch["input_ids"], batch["input_mask"], batch["segment_ids"])
    seen = batch["input_mask"] == 1
    np.testing.assert_allclose(hidden.numpy()[seen], expected["hidden"][seen], atol=2e-5)
    np.testing.assert_allclose(pooled, expected["pooled"], atol=2e-5)
    logits = model(batch)
    for name in ("masked_lm", "next_sentence"):
        np.testing.assert_allclose(logits[name], expected[name], atol=2e-4, rtol=1e-5)
    np.testing.assert_allclose(
        losses_of(model, batch), numpy_bert.losses(expected, batch), rtol=1e-5
    )


def test_padding_changes_nothing() -> None:
    model = model_with_random_weights()
    batch = random_batch(width=7)
    wider = {
        name: np.pad(value, ((0, 0), (0, 0 if name == "next_sentence_labels" else 3)))
        for name, value in batch.items()
    }
    wider["input_ids"][:, 7:] = 4  # what stands in the padding does not matter
    assert losses_of(model, wider) == pytest.approx(losses_of(model, batch), rel=1e-6)


def test_gelu_is_the_approximation_by_tanh() -> None:
    batch = random_batch()
    by_act = {act: losses_of(model_with_random_weights(hidden_act=act), batch)
              for act in ("gelu", "gelu_tanh", "gelu_erf")}  # fmt: skip
    assert by_act["gelu"] == by_act["gelu_tanh"] != by_act["gelu_erf"]


def test_variables_have_the_names_of_released_checkpoints() -> None:
    shapes = {
        n: tuple(v.shape) for n, v in pretraining_model(tiny_config()).released_weights().items()
    }
    layer = {
        "attention/output/LayerNorm/beta": (8,),
        "attention/output/LayerNorm/gamma": (8,),
        "attention/output/dense/bias": (8,),
        "attention/output/dense/kernel": (8, 8),
        "attention/self/key/bias": (8,),
        "attention/self/key/kernel": (8, 8),
        "attention/self/query/bias": (8,),
        "attention/self/query/kernel": (8, 8),
        "attention/self/value/bias": (8,),
        "attention/self/value/kernel": (8, 8),
        "intermediate/dense/bias": (12,),
        "intermediate/dense/kernel": (8, 12),
        "output/LayerNorm/beta": (8,),
        "output/LayerNorm/gamma": (8,),
        "output/dense/bias": (8,),
        "output/dense/kernel": (12, 8),
    }
    assert shapes == {
        "bert/embeddings/LayerNorm/beta": (8,),
        "bert/embeddings/LayerNorm/gamma": (8,),
        "bert/embeddings/position_embeddings": (10, 8),
        "bert/embeddings/token_type_embeddings": (2, 8),
        "bert/embeddings/word_embeddings": (11, 8),
        **{
            f"bert/encoder/layer_{i}/{name}": shape for i in (0, 1) for name, shape in layer.items()
        },
        "bert/pooler/dense/bias": (8,),
        "bert/pooler/dense/kernel": (8, 8),
        "cls/predictions/output_bias": (11,),
        "cls/predictions/transform/LayerNorm/beta": (8,),
        "cls/predictions/transform/LayerNorm/gamma": (8,),
        "cls/predictions/transform/dense/bias": (8,),
        "cls/predictions/transform/dense/kernel": (8, 8),
        "cls/seq_relationship/output_bias": (2,),
        "cls/seq_relationship/output_weights": (2, 8),
    }


def test_first_weights_follow_from_the_seed_and_are_cut_off() -> None:
    config = tiny_config(vocab_size=500, initializer_range=0.02)
    first, again, other = (
        pretraining_model(config, random_seed=seed).released_weights() for seed in (1, 1, 2)
    )
    kernels = [name for name in first if re.search("kernel|embeddings$|output_weights", name)]
    assert len(kernels) == 3 + 2 * 6 + 3
    for name, variable in first.items():
        np.testing.assert_array_equal(variable.numpy(), again[name].numpy())
        if name not in kernels:
            assert set(variable.numpy().ravel()) == {1.0 if name.endswith("gamma") else 0.0}
            continue
        assert np.abs(variable.numpy()).max() <= 0.04
        assert not np.array_equal(variable.numpy(), other[name].numpy())
    table = first["bert/embeddings/word_embeddings"].numpy()
    assert table.std() == pytest.approx(0.88 * 0.02, rel=0.05)  # a normal one cut off at 2 sigma
    query, key = (
        first[f"bert/encoder/layer_0/attention/self/{n}/kernel"] for n in ("query", "key")
    )
    assert not np.array_equal(query.numpy(), key.numpy())


def test_dropout_zeroes_its_share_and_keeps_the_mean() -> None:
    seed = tf.constant([1, 2])
    x = dropout(tf.ones([400, 100]), 0.1, seed, 3).numpy()
    assert (x == 0).mean() == pytest.approx(0.1, abs=0.01)
    np.testing.assert_allclose(x[x > 0], 1 / 0.9, rtol=1e-6)
    np.testing.assert_array_equal(x, dropout(tf.ones([400, 100]), 0.1, seed, 3).numpy())
    assert (x != dropout(tf.ones([400, 100]), 0.1, seed, 4).numpy()).any()


def test_dropout_depends_on_the_step_and_only_in_training() -> None:
    model = pretraining_model(tiny_config(hidden_dropout_prob=0.4))
    batch = random_batch()

    def scores(step: int, *, training: bool = True) -> np.ndarray:
        return model(batch, training=training, seed=step_seed(1, tf.constant(step)))[
            "masked_lm"
        ].numpy()

    np.testing.assert_array_equal(scores(3), scores(3))
    assert not np.allclose(scores(3), scores(4))
    np.testing.assert_array_equal(scores(3, training=False), model(batch)["masked_lm"].numpy())
    with pytest.raises(ValueError, match="needs seed="):
        model(batch, training=True)


@pytest.mark.parametrize("mixed_precision", ["bfloat16", "float16"])
def test_gradients_are_finite_in_mixed_precision(mixed_precision: str) -> None:
    config = tiny_config(hidden_dropout_prob=0.1, initializer_range=0.1)
    models = [pretraining_model(config, mixed_precision=name) for name in ("none", mixed_precision)]
    batch = {name: tf.constant(value) for name, value in random_batch().items()}
    totals = []
    for model in models:
        with tf.GradientTape() as tape:
            logits = model(batch, training=True, seed=step_seed(1, tf.constant(0)))
            total = pretraining_losses(
                logits["masked_lm"],
                batch["masked_lm_ids"],
                batch["masked_lm_weights"],
                logits["next_sentence"],
                batch["next_sentence_labels"],
            ).total
        totals.append(float(total))
        weights = model.released_weights()
        gradients = tape.gradient(total, [v.value for v in weights.values()])
        for name, gradient in zip(weights, gradients, strict=True):
            gradient = tf.convert_to_tensor(gradient)
            assert gradient.dtype == tf.float32, name
            assert np.isfinite(gradient.numpy()).all(), name
            if not name.endswith("key/bias"):  # it shifts all scores alike: no influence
                assert np.abs(gradient.numpy()).max() > 0, name
    assert totals[1] == pytest.approx(totals[0], rel=0.05)
    assert totals[1] != totals[0]


def test_mixed_precision_is_one_of_three_words() -> None:
    with pytest.raises(
        ValueError, match="mixed_precision is 'half'; it must be one of none, bfloat16"
    ):
        pretraining_model(tiny_config(), mixed_precision="half")
