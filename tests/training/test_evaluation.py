"""Google's metrics against NumPy."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.training.checkpoints import save_checkpoint, write_config
from bert_data.training.evaluation import best_guesses, evaluate, load_pretrained
from bert_data.training.model import pretraining_model
from bert_data.training.run_output import write_results
from tests.training import numpy_bert
from tests.training.tiny import check_equal_weights, random_batch, tiny_config


def test_metrics_are_means_over_predictions_and_examples() -> None:
    model = pretraining_model(tiny_config(hidden_dropout_prob=0.5))
    weights = model.released_values()
    batches = [random_batch(num_examples=6, seed=1), random_batch(num_examples=3, width=7, seed=2)]
    sums = np.zeros(6)
    for batch in batches:
        outputs = numpy_bert.forward(weights, batch, num_layers=2, num_heads=2, act="gelu")
        words, answers = numpy_bert.example_losses(outputs, batch)
        w, labels = batch["masked_lm_weights"], batch["next_sentence_labels"][:, 0]
        hits = outputs["masked_lm"].argmax(-1) == batch["masked_lm_ids"]
        right = outputs["next_sentence"].argmax(-1) == labels
        sums += w.sum(), (w * words).sum(), (w * hits).sum(), len(w), answers.sum(), right.sum()
    results = evaluate(model, batches)
    assert results == {
        "loss": pytest.approx(sums[1] / sums[0] + sums[4] / sums[3], rel=1e-5),
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


def test_guesses_are_the_likeliest_words() -> None:
    model = pretraining_model(tiny_config())
    texts = [[2, 4, 7, 3], [2, 4, 5, 4, 6, 3], [2, 3]]
    guesses = best_guesses(model, texts, mask_id=4, k=3)
    assert [len(masks) for masks in guesses] == [1, 2, 0]
    weights = model.released_values()
    for text, masks in zip(texts[:2], guesses[:2], strict=True):
        batch = {
            "input_ids": np.array([text]),
            "input_mask": np.ones((1, len(text)), int),
            "segment_ids": np.zeros((1, len(text)), int),
            "masked_lm_positions": np.array([[i for i, token in enumerate(text) if token == 4]]),
        }
        outputs = numpy_bert.forward(weights, batch, num_layers=2, num_heads=2, act="gelu")
        probabilities = numpy_bert.softmax(outputs["masked_lm"])[0]
        for mask, expected in zip(masks, probabilities, strict=True):
            best = np.argsort(-expected)[:3]
            assert [word for word, _ in mask] == best.tolist()
            assert [p for _, p in mask] == pytest.approx(expected[best].tolist(), rel=1e-4)


def test_texts_without_masks_have_no_guesses() -> None:
    assert best_guesses(pretraining_model(tiny_config()), [[2, 3], []], mask_id=4) == [[], []]


def test_texts_that_the_model_cannot_read_are_told() -> None:
    model = pretraining_model(tiny_config())
    with pytest.raises(ValueError, match="a text has 11 tokens; the model reads up to 10"):
        best_guesses(model, [[4] * 11], mask_id=4)
    with pytest.raises(ValueError, match="not below vocab_size, 11"):
        best_guesses(model, [[4, 11]], mask_id=4)


def test_loads_the_last_checkpoint_or_the_one_that_is_named(tmp_path: Path) -> None:
    models = {step: pretraining_model(tiny_config(), random_seed=step) for step in (2, 4)}
    for step, model in models.items():
        save_checkpoint(str(tmp_path), step, model.released_values(), num_kept=2)
    write_config(str(tmp_path), tiny_config())
    for name, step in (("", 4), ("model.ckpt-4", 4), ("model.ckpt-2", 2)):
        check_equal_weights(load_pretrained(str(tmp_path / name)), models[step])
    with pytest.raises(ValueError, match=r"no bert_config.json"):
        load_pretrained(str(tmp_path / "none" / "model.ckpt-4"))
