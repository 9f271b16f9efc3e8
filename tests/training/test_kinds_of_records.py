"""Models learn of two segments the next sentence, their order, or nothing."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.set_check import check_set
from bert_data.reader import ReaderConfig, read_batches
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.tokens.tokenizer_file import read_vocabulary
from bert_data.tokens.vocabulary_config import BPE, VocabularyTrainingConfig
from bert_data.tokens.vocabulary_training import write_vocabulary
from bert_data.training import (
    AdamWeightDecay,
    TrainingConfig,
    evaluate,
    latest_checkpoint,
    load_pretrained,
    pretraining_model,
    train,
)
from bert_data.training.model import PretrainingModel
from bert_data.training.steps import TrainingReport
from tests.training.tiny import (
    batches_of,
    check_equal_weights,
    pack,
    random_batch,
    tiny_config,
    write_records,
)

OF_SEGMENTS = ("bert/pooler/dense/", "cls/seq_relationship/")
CONFIG = tiny_config(num_hidden_layers=1)
Batch = dict[str, np.ndarray]


def without_labels(batch: Batch) -> Batch:
    return {name: values for name, values in batch.items() if not name.startswith("next_sentence")}


def run(
    folder: Path, batch: Batch, next_sentence: str, num_steps: int = 4
) -> tuple[PretrainingModel, TrainingReport]:
    reports: list[TrainingReport] = []
    config = TrainingConfig(
        output_dir=str(folder), num_train_steps=num_steps, batch_size=4, num_warmup_steps=0,
        learning_rate=1e-2, next_sentence=next_sentence,
    )  # fmt: skip
    model = train(config, CONFIG, batches_of(batch, 4), observers=[reports.append])
    return model, reports[-1]


@pytest.fixture(scope="module")
def unlabelled(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, PretrainingModel, TrainingReport]:
    """The folder of a run that learns masked words alone, its model and its last report."""
    folder = tmp_path_factory.mktemp("unlabelled")
    return folder, *run(folder, without_labels(random_batch()), "none")


@pytest.mark.slow
def test_without_labels_the_masked_words_alone_are_learned(unlabelled) -> None:
    batch = without_labels(random_batch())
    _, model, report = unlabelled
    before = pretraining_model(CONFIG).released_values()
    for name, value in model.released_values().items():
        stays = np.array_equal(value, before[name])
        assert stays == name.startswith(OF_SEGMENTS), name
    assert set(model(batch)) == set(report.last_losses) == {"masked_lm"}
    assert report.losses[-1] == report.last_losses["masked_lm"] > 0
    assert report.num_examples == 3 * 4  # the first step has a report of its own
    results = evaluate(model, [batch])
    assert set(results) == {"loss", "masked_lm_accuracy", "masked_lm_loss"}
    assert results["loss"] == pytest.approx(results["masked_lm_loss"], rel=1e-4)


@pytest.mark.slow
def test_its_checkpoint_has_what_released_ones_have_and_goes_on(unlabelled) -> None:
    folder, model, _ = unlabelled
    prefix = latest_checkpoint(str(folder))
    names = dict(tf.train.list_variables(prefix))
    assert set(pretraining_model(CONFIG).released_weights()) <= set(names)
    assert not any(name.startswith(OF_SEGMENTS) and name.endswith("adam_m") for name in names)
    check_equal_weights(load_pretrained(str(folder)), model)
    _, report = run(folder, without_labels(random_batch()), "none", num_steps=6)
    assert (report.step, len(report.losses)) == (6, 1)


@pytest.mark.slow
def test_order_is_learned_as_the_next_sentence_is_under_its_own_name(tmp_path: Path) -> None:
    batch = random_batch()
    all_losses, all_results = [], []
    for objective, task in (("nsp", "next_sentence"), ("sop", "sentence_order")):
        model, report = run(tmp_path / objective, batch, objective)
        assert set(model(batch)) == set(report.last_losses) == {"masked_lm", task}
        all_losses.append(report.losses[-1])
        results = evaluate(model, [batch])
        assert results[f"{task}_loss"] > 0 and len(results) == 5
        all_results.append([results[f"{task}_{name}"] for name in ("loss", "accuracy")])
    assert all_losses[0] == all_losses[1]
    assert all_results[0] == all_results[1]


@pytest.mark.slow
def test_packed_rows_without_labels_give_what_the_instances_give_alone() -> None:
    model = pretraining_model(CONFIG, next_sentence="none")
    examples = random_batch(num_examples=6)
    packed = without_labels(pack(examples, [[0, 4], [1], [2, 5, 3]], width=28))
    expected = evaluate(model, [without_labels(examples)])
    assert evaluate(model, [packed]) == pytest.approx(expected, rel=1e-5)


def test_labels_that_are_missing_or_of_something_else_are_told(tmp_path: Path) -> None:
    batch = without_labels(random_batch())
    with pytest.raises(ValueError, match="no next_sentence_labels, which the model needs for"):
        run(tmp_path, batch, "sop")
    model = pretraining_model(CONFIG, next_sentence="none")
    model.compile(AdamWeightDecay(1e-2))
    labels = {"masked_lm": batch["masked_lm_ids"], "next_sentence": np.zeros((4, 1), np.int32)}
    weights = {"masked_lm": batch["masked_lm_weights"], "next_sentence": np.ones(4, np.float32)}
    data = tf.data.Dataset.from_tensors((batch, labels, weights))
    with pytest.raises(ValueError, match="labels for masked_lm and next_sentence, but the model"):
        model.fit(data, verbose=0)
    with pytest.raises(ValueError, match="next_sentence is 'other'; it must be one of"):
        pretraining_model(CONFIG, next_sentence="other")


@pytest.mark.slow
@pytest.mark.parametrize("next_sentence", ["sop", "none"])
def test_the_history_of_fit_has_the_tasks_names(next_sentence: str) -> None:
    model = pretraining_model(CONFIG, next_sentence=next_sentence)
    model.compile(AdamWeightDecay(1e-2), run_eagerly=True)
    batch = random_batch()
    labels = {"masked_lm": batch["masked_lm_ids"]}
    weights = {"masked_lm": batch["masked_lm_weights"]}
    if next_sentence == "sop":
        labels["sentence_order"] = batch["next_sentence_labels"]
        weights["sentence_order"] = np.ones(4, np.float32)
    data = tf.data.Dataset.from_tensors((without_labels(batch), labels, weights))
    history = model.fit(data, verbose=0).history
    assert set(history) == {"loss", *(f"{task}_accuracy" for task in labels)}


NUM_RECORDS = 21
EXAMPLES = random_batch(num_examples=NUM_RECORDS)


def reader(folder: Path, batching: str, **changes: object) -> ReaderConfig:
    path = folder / "r.tfrecord"
    if not path.exists():
        write_records(str(path), EXAMPLES)
    values = {
        "input_patterns": str(path), "batch_size": 4, "batching": batching, "pool_batches": 3,
        "num_buckets": 3, "shuffle": True, "seed": 3, "num_epochs": None,
    }  # fmt: skip
    if batching == "packed":
        values |= {"width": (20,), "batch_size": 2}
    return ReaderConfig(**{**values, **changes})


@pytest.mark.slow
def test_metrics_do_not_depend_on_the_batches(tmp_path: Path) -> None:
    """Of this project's evaluation and of Keras'; losses are means over batches."""
    model = pretraining_model(tiny_config(num_hidden_layers=1))
    expected = evaluate(model, [EXAMPLES])
    model.compile(AdamWeightDecay(0.0), run_eagerly=True)
    for batching in ("plain", "buckets", "packed"):
        data = reader(tmp_path, batching, num_epochs=1)
        metrics = evaluate(model, read_batches(data))
        del metrics["loss"]
        assert metrics == pytest.approx({name: expected[name] for name in metrics}, rel=1e-5)
        batches = read_batches(dataclasses.replace(data, form="fit"))
        of_keras = model.evaluate(batches, return_dict=True, verbose=0)
        for name in ("masked_lm_accuracy", "next_sentence_accuracy"):
            assert of_keras[name] == pytest.approx(expected[name], rel=1e-5), batching


SIZE = 330


@pytest.mark.slow
def test_records_of_whole_words_are_masked_by_words_again(small_text: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "tokenizer.json")
    config = VocabularyTrainingConfig(
        input_files=(str(small_text),), vocab_size=SIZE, model=BPE, work_dir=f"{path}.work"
    )
    write_vocabulary(config, path, overwrite=False)
    records = str(tmp_path / "r.tfrecord")
    create_dataset(
        DatasetConfig(
            input_file=str(small_text),
            output_file=records,
            tokenizer_file=path,
            instances=InstanceConfig(
                max_seq_length=48, max_predictions_per_seq=8, do_whole_word_mask=True
            ),
            num_workers=1,
        )
    )
    report = check_set(CheckConfig(input_patterns=records, vocab_file=path, num_workers=1))
    assert not report.is_harmful

    data = ReaderConfig(input_patterns=records, batch_size=16, batching="pools", vocab_file=path)
    _check_words(next(iter(read_batches(data).as_numpy_iterator())), path)


def _check_words(batch: dict[str, np.ndarray], path: str) -> None:
    """Whole words are predicted: their first tokens with all that continue them."""
    vocabulary = read_vocabulary(path)
    ids = batch["input_ids"].copy()
    is_predicted = np.zeros(ids.shape, np.bool_)
    for row, (places, labels, weights) in enumerate(
        zip(
            batch["masked_lm_positions"],
            batch["masked_lm_ids"],
            batch["masked_lm_weights"],
            strict=True,
        )
    ):
        chosen = places[weights > 0]
        ids[row, chosen] = labels[weights > 0]
        is_predicted[row, chosen] = True
    assert vocabulary.mask_id in batch["input_ids"]
    bits = vocabulary.word_bits
    joined = (bits[ids[:, 1:-1]] >> 8 & bits[ids[:, 2:]] & 0xFF) != 0
    assert (is_predicted[:, 1:-1] == is_predicted[:, 2:])[joined].all()
    assert (joined & is_predicted[:, 2:]).any()
