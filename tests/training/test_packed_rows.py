"""Rows of several instances give what the instances give alone, and rows of none give nothing."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.training import AdamWeightDecay, TrainingConfig, evaluate, train
from bert_data.training.losses import pretraining_losses
from bert_data.training.model import (
    MASKED_LM,
    PretrainingModel,
    pretraining_model,
    step_seed,
)
from tests.training.tiny import batches_of, pack, random_batch, tiny_config

ROWS = [[0, 4], [1], [2, 5, 3]]  # the width of all three exceeds what one instance may have
EXAMPLES = random_batch(num_examples=6)
PACKED = pack(EXAMPLES, ROWS, width=28)
Batch = dict[str, np.ndarray]


def random_model(**changes: object) -> PretrainingModel:
    """Also biases and what LayerNorm learns are random, so that each is seen in the result."""
    model = pretraining_model(tiny_config(**changes))
    random = np.random.default_rng(5)
    for variable in model.released_weights().values():
        variable.assign(random.normal(0.3, 0.5, variable.shape))
    return model


def with_empty_rows(batch: Batch) -> Batch:
    """The batch with weights, and two rows without an instance."""
    weights = np.ones_like(batch["next_sentence_labels"], np.float32)
    weighted = {"next_sentence_weights": weights, **batch}
    return {name: np.pad(value, ((0, 2), (0, 0))) for name, value in weighted.items()}


def losses_and_gradients(
    model: PretrainingModel, batch: Batch, seed: tf.Tensor | None = None
) -> tuple[list[float], Batch]:
    weights = model.released_weights()
    with tf.GradientTape() as tape:
        logits = model(batch, training=seed is not None, seed=seed)
        losses = pretraining_losses(
            logits[MASKED_LM],
            batch["masked_lm_ids"],
            batch["masked_lm_weights"],
            logits["next_sentence"],
            batch["next_sentence_labels"],
            batch.get("next_sentence_weights"),
        )
        total = losses.total
    gradients = tape.gradient(total, [variable.value for variable in weights.values()])
    dense = [tf.convert_to_tensor(gradient).numpy() for gradient in gradients]
    return [float(losses.masked_lm), float(losses.segments)], dict(zip(weights, dense, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [PACKED, with_empty_rows(PACKED), with_empty_rows(EXAMPLES)],
    ids=["packed", "packed with empty rows", "with empty rows"],
)
def test_losses_gradients_and_metrics_are_those_of_the_instances(other: Batch) -> None:
    model = random_model()
    losses, gradients = losses_and_gradients(model, EXAMPLES)
    other_losses, other_gradients = losses_and_gradients(model, other)
    assert other_losses == pytest.approx(losses, rel=1e-5)
    largest = max(np.abs(gradient).max() for gradient in gradients.values())
    for name, gradient in gradients.items():
        np.testing.assert_allclose(
            other_gradients[name], gradient, rtol=1e-4, atol=1e-6 * largest, err_msg=name
        )
    assert evaluate(model, [other]) == pytest.approx(evaluate(model, [EXAMPLES]), rel=1e-5)


def hidden_of(model: PretrainingModel, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    hidden, pooled = model.encoder(
        *(batch[name] for name in ("input_ids", "input_mask", "segment_ids")),
        instance_ids=batch["instance_ids"],
        position_ids=batch["position_ids"],
        first_positions=batch["next_sentence_positions"],
    )
    return hidden.numpy(), pooled.numpy()


def test_what_an_instance_becomes_does_not_depend_on_its_neighbours() -> None:
    model = random_model()
    others = random_batch(num_examples=6, seed=1)
    mixed = {
        name: np.concatenate([value[:, :9], others[name]]) if value.ndim == 2 else value
        for name, value in EXAMPLES.items()
    }
    before = hidden_of(model, pack(EXAMPLES, [[0, 1, 2]], width=30))
    after = hidden_of(model, pack(mixed, [[0, 7, 9]], width=30))
    length = EXAMPLES["input_mask"][0].sum()
    np.testing.assert_allclose(after[0][0, :length], before[0][0, :length], atol=1e-6)
    np.testing.assert_allclose(after[1][0, 0], before[1][0, 0], atol=1e-6)
    elsewhere = hidden_of(model, pack(mixed, [[8, 0, 6]], width=30))  # and not on its place
    first = mixed["input_mask"][8].sum()
    there = elsewhere[0][0, first : first + length]
    np.testing.assert_allclose(there, before[0][0, :length], atol=1e-5)
    np.testing.assert_allclose(elsewhere[1][0, 1], before[1][0, 0], atol=1e-5)
    assert not np.allclose(after[1][0, 1], before[1][0, 1], atol=1e-2)


@pytest.mark.parametrize("mixed_precision", ["bfloat16", "float16"])
def test_gradients_are_finite_in_mixed_precision(mixed_precision: str) -> None:
    config = tiny_config(hidden_dropout_prob=0.1, initializer_range=0.1)
    models = [pretraining_model(config, mixed_precision=name) for name in ("none", mixed_precision)]
    batch = with_empty_rows(PACKED)
    results = [losses_and_gradients(model, batch, step_seed(1, 0)) for model in models]
    assert sum(results[1][0]) == pytest.approx(sum(results[0][0]), rel=0.05)
    for name, gradient in results[1][1].items():
        assert np.isfinite(gradient).all(), name


@pytest.mark.slow
def test_fit_takes_packed_rows_and_empty_ones() -> None:
    histories = []
    for batch in (EXAMPLES, PACKED, with_empty_rows(EXAMPLES)):
        weights = batch.get("next_sentence_weights", np.ones([6, 1], np.float32))
        labels = {MASKED_LM: batch["masked_lm_ids"], "next_sentence": batch["next_sentence_labels"]}
        both = {MASKED_LM: batch["masked_lm_weights"], "next_sentence": weights}
        data = tf.data.Dataset.from_tensors((batch, labels, both)).repeat()
        model = pretraining_model(tiny_config(num_hidden_layers=1))
        model.compile(AdamWeightDecay(1e-2))
        histories.append(model.fit(data, steps_per_epoch=1, epochs=3, verbose=0).history)
    for history in histories[1:]:
        for name in ("loss", "masked_lm_accuracy", "next_sentence_accuracy"):
            assert history[name] == pytest.approx(histories[0][name], rel=1e-4), name


@pytest.mark.slow
def test_the_loop_trains_alike_and_counts_instances(tmp_path: Path) -> None:
    counts = []
    ways = ((EXAMPLES, False), (PACKED, True), (with_empty_rows(EXAMPLES), False))
    for number, (batch, jit_compile) in enumerate(ways):
        rows = len(batch["input_ids"])
        config = TrainingConfig(
            output_dir=str(tmp_path / str(number)), num_train_steps=3, batch_size=rows,
            learning_rate=1e-2, num_warmup_steps=0, jit_compile=jit_compile,
        )  # fmt: skip
        bert = tiny_config(num_hidden_layers=1)
        train(config, bert, batches_of(batch, rows), observers=[counts.append])
    firsts, others = counts[::2], counts[1::2]  # the first step has a report of its own
    for first, rest in zip(firsts, others, strict=True):
        assert (first.num_examples, rest.num_examples) == (6, 2 * 6)
        assert first.num_tokens + rest.num_tokens == 3 * EXAMPLES["input_mask"].sum()
        np.testing.assert_allclose(first.losses, firsts[0].losses, rtol=1e-4)
        np.testing.assert_allclose(rest.losses, others[0].losses, rtol=1e-4)


def test_half_of_the_names_are_told() -> None:
    batch = {name: value for name, value in PACKED.items() if name != "position_ids"}
    with pytest.raises(ValueError, match="rows of several instances need position_ids, too"):
        pretraining_model(tiny_config())(batch)
