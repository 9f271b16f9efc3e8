"""The encoder that is saved: its outputs against an independent forward pass, and its training."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.hub.saving import EncoderObject, encoder_object
from bert_data.training.checkpoints import Checkpoint, save_checkpoint
from tests.hub.exports import inputs_of, tiny_weights
from tests.training import numpy_bert
from tests.training.tiny import random_batch, tiny_config


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> EncoderObject:
    folder = tmp_path_factory.mktemp("checkpoint")
    prefix = save_checkpoint(str(folder), 1, dict(tiny_weights()), num_kept=1)
    return encoder_object(Checkpoint(prefix), tiny_config(hidden_dropout_prob=0.3))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 5, 10])
def test_outputs_equal_the_forward_pass_in_numpy(encoder: EncoderObject, width: int) -> None:
    batch = random_batch(width=max(width, 4))
    batch = {name: x[:, :width] if x.shape[1] > 3 else x for name, x in batch.items()}
    batch["masked_lm_positions"] = np.minimum(batch["masked_lm_positions"], width - 1)
    batch["input_mask"][:, 0] = 1
    expected = numpy_bert.forward(tiny_weights(), batch, num_layers=2, num_heads=2, act="gelu")
    outputs = encoder.mlm(inputs_of(batch, "masked_lm_positions"))
    np.testing.assert_allclose(outputs["mlm_logits"], expected["masked_lm"], atol=2e-4)
    plain = encoder(inputs_of(batch))
    assert set(plain) == {"pooled_output", "sequence_output", "encoder_outputs", "default"}
    assert len(plain["encoder_outputs"]) == 2
    assert plain["sequence_output"].shape == (4, width, 8)
    assert plain["pooled_output"].shape == (4, 8)
    for one, other in (
        (plain["default"], plain["pooled_output"]),
        (plain["encoder_outputs"][-1], plain["sequence_output"]),
        (outputs["pooled_output"], plain["pooled_output"]),
    ):
        np.testing.assert_array_equal(one, other)
    assert not np.allclose(plain["encoder_outputs"][0], plain["encoder_outputs"][1])
    # The next-sentence head reads the pooled output alone.
    head = tiny_weights()["cls/seq_relationship/output_weights"]
    bias = tiny_weights()["cls/seq_relationship/output_bias"]
    np.testing.assert_allclose(
        plain["pooled_output"].numpy() @ head.T + bias, expected["next_sentence"], atol=2e-4
    )


@pytest.mark.slow
def test_dropout_is_for_training_and_differs_from_call_to_call(encoder: EncoderObject) -> None:
    inputs = inputs_of(random_batch())
    plain, again = (encoder(inputs)["sequence_output"].numpy() for _ in range(2))
    trained, other = (encoder(inputs, training=True)["sequence_output"].numpy() for _ in range(2))
    np.testing.assert_array_equal(plain, again)
    assert not np.allclose(plain, trained)
    assert not np.allclose(trained, other)


def test_every_variable_has_a_gradient(encoder: EncoderObject) -> None:
    batch = random_batch()
    with tf.GradientTape() as tape:
        outputs = encoder.mlm(inputs_of(batch, "masked_lm_positions"), training=True)
        total = tf.reduce_sum(outputs["mlm_logits"] ** 2) + tf.reduce_sum(outputs["default"])
    gradients = tape.gradient(total, encoder.mlm.trainable_variables)
    for variable, gradient in zip(encoder.mlm.trainable_variables, gradients, strict=True):
        if "key/bias" not in variable.name:  # it shifts all scores alike: no influence
            assert np.abs(tf.convert_to_tensor(gradient).numpy()).max() > 0, variable.name


def test_variables_have_the_names_of_the_checkpoint(encoder: EncoderObject) -> None:
    names = {variable.name.removesuffix(":0") for variable in encoder.variables}
    assert names == {name for name in tiny_weights() if name.startswith("bert/")}
    with_head = {variable.name.removesuffix(":0") for variable in encoder.mlm.variables}
    assert with_head - names == {n for n in tiny_weights() if n.startswith("cls/predictions/")}
    assert encoder.regularization_losses == []


@pytest.mark.slow
def test_a_checkpoint_without_heads_gives_an_encoder_without_one(tmp_path: Path) -> None:
    weights = {n: x for n, x in tiny_weights().items() if n.startswith("bert/")}
    prefix = save_checkpoint(str(tmp_path), 1, weights, num_kept=1)
    encoder = encoder_object(Checkpoint(prefix), tiny_config())
    assert not hasattr(encoder, "mlm")
    del weights["bert/pooler/dense/bias"]
    prefix = save_checkpoint(str(tmp_path), 2, weights, num_kept=1)
    with pytest.raises(ValueError, match=r"has no variable 'bert/pooler/dense/bias', which the mo"):
        encoder_object(Checkpoint(prefix), tiny_config())


@pytest.mark.slow
def test_rows_that_are_too_wide_are_told(encoder: EncoderObject) -> None:
    inputs = {name: tf.ones([1, 11], tf.int32) for name in inputs_of(random_batch())}
    with pytest.raises(tf.errors.InvalidArgumentError, match="the encoder reads rows of up to 10"):
        encoder.serve(inputs)
