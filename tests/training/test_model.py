"""Models in Keras's files and exports: a loaded one continues as the saved one does."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_data import create_records
from bert_data.labelled.classifier import text_classifier
from bert_data.reader import ReaderConfig, read_batches
from bert_data.training import AdamWeightDecay, WarmupLinearDecay, pretraining_model
from bert_data.training.bert_config import BertConfig
from bert_data.training.keras_model import KerasModel
from bert_data.training.loop import train
from bert_data.training.training_config import TrainingConfig
from tests.training.tiny import check_equal_weights, random_batch, tiny_config, write_records

# Keras warns at the end of an epoch whose length it did not know.
COVERS = ("training/keras_model",)
pytestmark = pytest.mark.filterwarnings("ignore:Your input ran out of data")
CONFIG = tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2, type_vocab_size=3)


def pretraining_batches(folder: Path, **changes: Any) -> tf.data.Dataset:
    path = str(folder / "records")
    write_records(path, random_batch(num_examples=12))
    values = {"form": "fit", "shuffle": False, "num_epochs": 1, **changes}
    return read_batches(ReaderConfig(input_patterns=path, batch_size=4, **values))


def classifier_batches() -> tf.data.Dataset:
    features = random_batch(num_examples=12)
    labels = features.pop("next_sentence_labels")[:, 0]
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(4)


def check_files(model: KerasModel, data: tf.data.Dataset, folder: Path) -> KerasModel:
    """Train a compiled model, and compare what is saved and exported; return the loaded one."""
    saver = keras.callbacks.ModelCheckpoint(str(folder / "last.keras"))
    model.fit(data, verbose=0, callbacks=[saver])
    model.evaluate(data, verbose=0)
    model.save(folder / "saved.keras")
    model.export(folder / "exported", verbose=False)
    features = {name: tf.constant(random_batch(width=7)[name]) for name in model.input_names}
    exported = tf.saved_model.load(str(folder / "exported"))
    tf.nest.map_structure(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6),
        exported.serve(features), model(features),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # such as that a state is not loaded
        loaded = [keras.models.load_model(folder / f"{name}.keras") for name in ("last", "saved")]
    for each in loaded:
        assert each.get_config() == model.get_config()
        for mine, its in zip(model.variables, each.variables, strict=True):
            assert mine.path == its.path
            np.testing.assert_array_equal(mine, its)
        assert len(each.trainable_variables) == len(model.trainable_variables)
    results = [each.fit(data, epochs=2, verbose=0).history["loss"] for each in (model, loaded[1])]
    assert results[0] == results[1]
    return loaded[1]


@pytest.mark.slow
def test_a_loaded_pretraining_model_continues(tmp_path: Path) -> None:
    model = pretraining_model(CONFIG, random_seed=5, mixed_precision="bfloat16")
    schedule = WarmupLinearDecay(1e-2, num_train_steps=9, num_warmup_steps=3)
    optimizer = AdamWeightDecay(schedule, gradient_accumulation_steps=2, weight_decay=0.1)
    model.compile(optimizer, run_eagerly=True)
    loaded = check_files(model, pretraining_batches(tmp_path), tmp_path)
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    assert int(loaded.optimizer.num_batches) == 9


@pytest.mark.slow
def test_a_loaded_classifier_continues_with_what_was_frozen(tmp_path: Path) -> None:
    model = text_classifier(CONFIG, num_labels=2, labels=("bad", "good"))
    model.encoder.embeddings.trainable = False
    model.compile(keras.optimizers.AdamW(1e-2), run_eagerly=True)
    assert check_files(model, classifier_batches(), tmp_path).labels == ("bad", "good")


def test_a_model_is_made_again_from_its_configuration() -> None:
    model = pretraining_model(CONFIG, random_seed=7, next_sentence="none")
    again = type(model).from_config(model.get_config())
    assert isinstance(again.config, BertConfig) and again.config == model.config
    assert again.tasks == ("masked_lm",)
    for mine, its in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(mine, its)


NEED_FIT = r'^fit and evaluate need .*: read with form="fit"$'


@pytest.mark.parametrize("method", ["fit", "evaluate"])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"form": "features"}, NEED_FIT),
        ({"form": "supervised"}, NEED_FIT),
        (
            {"feature_names": "tfhub"},
            "^the batches lack input_ids, segment_ids; the model reads input_ids, .*google",
        ),
    ],
)
def test_batches_of_another_form_get_one_sentence(
    tmp_path: Path, method: str, options: dict[str, str], sentence: str
) -> None:
    model = pretraining_model(CONFIG)
    model.compile(AdamWeightDecay(1e-2))
    with pytest.raises(ValueError, match=sentence):
        getattr(model, method)(pretraining_batches(tmp_path, **options))


def test_batches_for_another_model_get_one_sentence(tmp_path: Path) -> None:
    data = pretraining_batches(tmp_path)
    classifier = text_classifier(CONFIG, num_labels=2)
    classifier.compile(AdamWeightDecay(1e-2))
    with pytest.raises(ValueError, match="as read_labelled_batches makes them"):
        classifier.evaluate(data)


@pytest.mark.parametrize("name", ["loss", "loss_weights"])
def test_another_loss_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is given, .* \(masked_lm \+ next_sentence\)"):
        pretraining_model(CONFIG).compile(AdamWeightDecay(1e-2), **{name: "mse"})


def test_what_keras_would_pass_over_is_refused(tmp_path: Path) -> None:
    model = pretraining_model(CONFIG)
    data = pretraining_batches(tmp_path)
    model.compile(None, run_eagerly=True)
    assert model.evaluate(data, verbose=0)[0] > 0
    with pytest.raises(ValueError, match=r"^fit needs an optimizer"):
        model.fit(data)
    model.compile(AdamWeightDecay(1e-2))
    with pytest.raises(ValueError, match=r"^batch_size is the reader's"):
        model.fit(data, batch_size=2)


def test_arrays_without_labels_get_the_sentence() -> None:
    model = pretraining_model(CONFIG)
    model.compile(AdamWeightDecay(1e-2))
    with pytest.raises(ValueError, match='read with form="fit"'):
        model.fit(random_batch(), verbose=0)


def test_a_second_segment_without_an_embedding_is_told(caplog: pytest.LogCaptureFixture) -> None:
    for segments, next_sentence, is_told in (
        (2, "nsp", False),
        (1, "none", False),
        (1, "sop", True),
    ):
        caplog.clear()
        pretraining_model(tiny_config(type_vocab_size=segments), next_sentence=next_sentence)
        assert ("the second has no embedding" in caplog.text) == is_told


def test_a_global_policy_that_is_not_followed_is_told(caplog: pytest.LogCaptureFixture) -> None:
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        pretraining_model(tiny_config(), mixed_precision="bfloat16")
        assert "global policy" not in caplog.text
        assert pretraining_model(tiny_config()).dtype_policy.name == "float32"
    finally:
        keras.config.set_dtype_policy("float32")
    assert "policy is mixed_bfloat16, but mixed_precision is none: the model com" in caplog.text


NUM_STEPS = 6


def reader(folder: Path, **changes: object) -> ReaderConfig:
    path = folder / "train.tfrecord"
    if not path.exists():
        write_records(str(path), random_batch(num_examples=20))
    values = {"input_patterns": str(path), "batch_size": 8, "shuffle": True, "num_epochs": None}
    return ReaderConfig(**{**values, **changes})


@pytest.mark.slow
def test_fit_equals_the_loop(tmp_path: Path) -> None:
    bert = tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2)
    data = reader(tmp_path)
    looped = train(
        TrainingConfig(output_dir=str(tmp_path / "out"), num_train_steps=NUM_STEPS, batch_size=8,
                       learning_rate=1e-2, num_warmup_steps=2),
        bert, lambda _, context: read_batches(data, input_context=context),
    )  # fmt: skip

    model = pretraining_model(bert)
    model.compile(AdamWeightDecay(WarmupLinearDecay(1e-2, NUM_STEPS, 2)))
    history = model.fit(
        read_batches(reader(tmp_path, form="fit")), steps_per_epoch=NUM_STEPS, verbose=0
    )
    check_equal_weights(model, looped, rtol=1e-5, atol=1e-6)
    assert {"loss", "masked_lm_accuracy", "next_sentence_accuracy"} <= set(history.history)


@pytest.mark.slow
def test_fit_in_float16_scales_the_loss_once(tmp_path: Path) -> None:
    data = read_batches(reader(tmp_path, form="fit"))
    losses = []
    for loss_scaling in (True, False):  # by this optimizer, by Keras' around it
        model = pretraining_model(tiny_config(num_hidden_layers=1), mixed_precision="float16")
        model.compile(AdamWeightDecay(1e-2, loss_scaling=loss_scaling), run_eagerly=True)
        history = model.fit(data, steps_per_epoch=1, epochs=4, verbose=0).history
        losses.append(history["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("make", [AdamWeightDecay, keras.optimizers.AdamW])
def test_fit_accumulates_gradients(tmp_path: Path, make: type[keras.optimizers.Optimizer]) -> None:
    model = pretraining_model(tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.5))
    model.compile(make(1e-2, gradient_accumulation_steps=3))
    data = read_batches(reader(tmp_path, form="fit", shuffle=False, num_epochs=1)).take(1).repeat()
    weights = [model.get_weights()]
    keep = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: weights.append(model.get_weights())
    )
    history = model.fit(data, steps_per_epoch=1, epochs=6, verbose=0, callbacks=[keep]).history
    changes = [
        any((a != b).any() for a, b in zip(*each, strict=True)) for each in pairwise(weights)
    ]
    assert changes == [False, False, True, False, False, True]
    assert int(model.optimizer.iterations) == 2
    assert len(set(history["loss"])) == 6  # each batch has zeros of dropout of its own


def test_evaluate_of_keras_gives_loss_and_accuracies(tmp_path: Path) -> None:
    model = pretraining_model(tiny_config(num_hidden_layers=1))
    model.compile(AdamWeightDecay(1e-2), run_eagerly=True)
    data = read_batches(reader(tmp_path, form="fit", num_epochs=1, shuffle=False, batch_size=20))
    results = model.evaluate(data, steps=1, return_dict=True, verbose=0)
    batch = random_batch(num_examples=20)
    logits = {name: value.numpy() for name, value in model(batch).items()}
    hits = logits["masked_lm"].argmax(-1) == batch["masked_lm_ids"]
    weights = batch["masked_lm_weights"]
    assert results["masked_lm_accuracy"] == pytest.approx((hits * weights).sum() / weights.sum())
    answers = logits["next_sentence"].argmax(-1) == batch["next_sentence_labels"][:, 0]
    assert results["next_sentence_accuracy"] == pytest.approx(answers.mean())


@pytest.mark.parametrize("jit_compile", [False, True])
def test_the_end_of_batches_of_unknown_number_does_not_count(tmp_path, jit_compile):
    """Where all batches have one shape, TensorFlow knows its rows without a batch."""
    shape = {"drop_remainder": True, "width": "max", "max_seq_length": 9}
    batches = read_batches(reader(tmp_path, form="fit", num_epochs=1, batching="plain", **shape))
    model = pretraining_model(tiny_config(num_hidden_layers=1))
    model.compile(AdamWeightDecay(0.0), jit_compile=jit_compile)
    unknown = batches.filter(lambda *_: True)
    runs = (model.evaluate(batches, verbose=0), model.evaluate(unknown, verbose=0))
    losses = [loss for loss, *_ in runs] + model.fit(unknown, verbose=0).history["loss"]
    assert losses == pytest.approx(losses[:1] * 3)


def sized(**sizes: int) -> KerasModel:
    """A compiled model of other sizes than the records' 9 tokens, of ids below 11."""
    model = pretraining_model(tiny_config(num_hidden_layers=1, **sizes))
    model.compile(AdamWeightDecay(0.1))
    return model


TOO_SMALL = [
    ({"max_position_embeddings": 5}, r"sequences of (up to )?9 tokens, but .* = 5$"),
    ({"vocab_size": 8}, r"ids? (up to )?10 but the model has vocab_size = 8$"),
]


@pytest.mark.parametrize(("sizes", "sentence"), TOO_SMALL)
@pytest.mark.parametrize("changes", [{}, {"vocab_size": 11, "max_seq_length": 9}])
def test_records_that_a_model_cannot_take_are_refused(tmp_path, sizes, sentence, changes):
    """By what the reader says, or in the batch that has them."""
    data = pretraining_batches(tmp_path, **changes)
    for run in (sized(**sizes).fit, sized(**sizes).evaluate):
        with pytest.raises(ValueError, match=sentence):
            run(data, verbose=0)
    sized().fit(data, verbose=0)


def widened(features: Any, *rest: Any) -> Any:
    """A batch of 18 tokens, of ids below 11."""
    for name in ("input_ids", "input_mask", "segment_ids"):
        features = {**features, name: tf.tile(features[name], [1, 2])}
    return features, *rest


def renamed(features: Any, *rest: Any) -> Any:
    """A batch of 9 tokens, of ids below 12."""
    return {**features, "input_ids": features["input_ids"] + 1}, *rest


@pytest.mark.parametrize(
    ("change", "settings", "sentence"),
    [
        (widened, {}, "^a batch has sequences of 18 tokens, but the model reads up to .* = 10$"),
        (renamed, {"run_eagerly": True}, "^a batch has the id 11 but the model has vocab_.* = 11$"),
        (renamed, {"jit_compile": True}, "^a batch has the id 11 but the model has vocab_.* = 11$"),
    ],
)
def test_a_later_batch_of_a_derived_dataset_is_refused_when_it_comes(
    tmp_path, change, settings, sentence
):
    """Whatever the dataset was derived by; the batches before it were trained on."""
    data = pretraining_batches(tmp_path)
    data = data.take(1).repeat(2).concatenate(data.skip(2).map(change)).prefetch(1)
    model = sized()
    model.compile(AdamWeightDecay(0.1), **settings)
    with pytest.raises(ValueError, match=sentence):
        model.fit(data, verbose=0)
    assert int(model.optimizer.iterations) == 2
    if "jit_compile" in settings:
        features, labels, weights = next(data.skip(2).as_numpy_iterator())
        for run in (
            lambda: model.predict(data.skip(2), verbose=0),
            lambda: model.predict(features, verbose=0),
            lambda: model.evaluate(features, labels, sample_weight=weights, verbose=0),
            lambda: model.fit(features, labels, sample_weight=weights, verbose=0),
        ):
            with pytest.raises(ValueError, match=sentence):
                run()


def test_texts_that_a_classifier_cannot_take_are_refused():
    model = text_classifier(tiny_config(num_hidden_layers=1), num_labels=2)
    model.compile(AdamWeightDecay(0.1))
    assert model.test_on_batch(*next(iter(classifier_batches())))[0] > 0  # without weights: None
    data = classifier_batches().map(renamed)
    arrays = next(data.unbatch().batch(12).as_numpy_iterator())
    for run in (model.fit, model.evaluate, model.predict):
        with pytest.raises(ValueError, match=r"^a batch has the id 11 but the model has"):
            run(data, verbose=0)
    with pytest.raises(ValueError, match=r"^a batch has the id 11 but the model has"):
        model.fit(*arrays, verbose=0)


def test_packed_rows_are_measured_by_their_positions(tmp_path):
    """They are wider than the longest sequence that the model reads."""
    data = pretraining_batches(tmp_path, batching="packed", max_seq_length=27).repeat(2)
    assert next(iter(data))[0]["input_ids"].shape[1] > 10
    sized().fit(data, verbose=0)
    with pytest.raises(ValueError, match=r"^a batch has sequences of 9 tokens, but .* = 8$"):
        sized(max_position_embeddings=8).evaluate(data, verbose=0)
    with pytest.raises(ValueError, match=r"^a batch has the id 10 but the model has .* = 8$"):
        sized(vocab_size=8).evaluate(data, verbose=0)


def test_manifests_say_what_a_model_cannot_take(tmp_path, small_text, small_vocabulary):
    """No batch need be read: here none could."""
    path = tmp_path / "records"
    create_records(small_text, path, vocab_file=small_vocabulary, max_seq_length=32, dupe_factor=1)
    data = read_batches(ReaderConfig(input_patterns=str(path), batch_size=4, form="fit"))
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"sequences of up to 32 tokens, but .* = 10$"):
        sized().fit(data, verbose=0)
    with pytest.raises(ValueError, match=r"ids up to \d+ but the model has vocab_size = 11$"):
        sized(max_position_embeddings=32).fit(data, verbose=0)
