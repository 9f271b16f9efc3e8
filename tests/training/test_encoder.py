"""The model against an independent forward pass, and what must not change its results."""

import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.training import AdamWeightDecay, TrainingConfig, evaluate, train
from bert_data.training.bert_config import ACTIVATIONS
from bert_data.training.encoder import dropout
from bert_data.training.keras_model import step_seed
from bert_data.training.losses import WeightedAccuracy, pretraining_losses
from bert_data.training.model import MASKED_LM, PretrainingModel, pretraining_model
from tests.rows import mostly_slow
from tests.training import numpy_bert
from tests.training.tiny import (
    batches_of,
    model_with_random_weights,
    pack,
    random_batch,
    tiny_config,
)


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


@mostly_slow("act", ACTIVATIONS)
def test_equals_the_forward_pass_in_numpy(act: str) -> None:
    model = model_with_random_weights(hidden_act=act)
    batch = random_batch()
    weights = model.released_values()
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


def test_mixed_precision_is_one_of_three_words() -> None:
    with pytest.raises(
        ValueError, match="mixed_precision is 'half'; it must be one of none, bfloat16"
    ):
        pretraining_model(tiny_config(), mixed_precision="half")


COVERS = ("training/losses",)

ROWS = [[0, 4], [1], [2, 5, 3]]  # the width of all three exceeds what one instance may have
EXAMPLES = random_batch(num_examples=6)
PACKED = pack(EXAMPLES, ROWS, width=28)
Batch = dict[str, np.ndarray]


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
    model = model_with_random_weights()
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
    model = model_with_random_weights()
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


@mostly_slow("mixed_precision", ["bfloat16", "float16"])
@mostly_slow("batch", [EXAMPLES, with_empty_rows(PACKED)], ids=["plain", "packed"])
def test_gradients_are_finite_in_mixed_precision(mixed_precision: str, batch: Batch) -> None:
    config = tiny_config(hidden_dropout_prob=0.1, initializer_range=0.1)
    models = [pretraining_model(config, mixed_precision=name) for name in ("none", mixed_precision)]
    results = [losses_and_gradients(model, batch, step_seed(1, 0)) for model in models]
    totals = [sum(losses) for losses, _ in results]
    assert totals[1] == pytest.approx(totals[0], rel=0.05) and totals[1] != totals[0]
    for name, gradient in results[1][1].items():
        assert gradient.dtype == np.float32 and np.isfinite(gradient).all(), name
        if not name.endswith("key/bias"):  # it shifts all scores alike: no influence
            assert np.abs(gradient).max() > 0, name


@pytest.mark.slow
def test_fit_takes_packed_rows_and_empty_ones() -> None:
    histories = []
    for batch in (EXAMPLES, with_empty_rows(PACKED)):
        weights = batch.get("next_sentence_weights", np.ones([6, 1], np.float32))
        labels = {MASKED_LM: batch["masked_lm_ids"], "next_sentence": batch["next_sentence_labels"]}
        both = {MASKED_LM: batch["masked_lm_weights"], "next_sentence": weights}
        data = tf.data.Dataset.from_tensors((batch, labels, both)).repeat()
        model = pretraining_model(tiny_config(num_hidden_layers=1))
        model.compile(AdamWeightDecay(1e-2), run_eagerly=True)
        histories.append(model.fit(data, steps_per_epoch=1, epochs=3, verbose=0).history)
    for history in histories[1:]:
        for name in ("loss", "masked_lm_accuracy", "next_sentence_accuracy"):
            assert history[name] == pytest.approx(histories[0][name], rel=1e-4), name


@pytest.mark.slow
def test_the_loop_trains_alike_and_counts_instances(tmp_path: Path) -> None:
    counts = []
    ways = ((EXAMPLES, False), (with_empty_rows(PACKED), True))
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
