"""Train a classifier on records of labelled texts, evaluate it and save it.

records ──▶ LabelledSource ──▶ batches ──▶ TextClassifier ──▶ model.keras
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf
from absl import logging

from bert_data.labelled.batches import LabelledReaderConfig, LabelledSource, read_labelled_batches
from bert_data.labelled.classifier import TextClassifier, load_encoder, text_classifier
from bert_data.labelled.fine_tuning_config import WIDTHS, FineTuningConfig
from bert_data.labelled.label_config import MAX_CLASSES
from bert_data.reader import explain
from bert_data.reader.planning import PlanConfig
from bert_data.storage import OutputSet, expand_inputs, read_bytes
from bert_data.training import AdamWeightDecay, BertConfig, WarmupLinearDecay

_NUM_NAMED = 10


def fine_tune(config: FineTuningConfig) -> TextClassifier:
    """Make the model, train it, evaluate it, and save it whole or not at all."""
    if config.output_file is None:
        return _train_and_evaluate(config)
    with _saving(config, config.output_file) as saved:
        model = _train_and_evaluate(config)
        (model.save if saved.endswith(".keras") else model.save_weights)(saved)
    logging.info("wrote %s", config.output_file)
    return model


@contextlib.contextmanager
def _saving(config: FineTuningConfig, output: str) -> Iterator[str]:
    """Provide a path for the model, which becomes the output when the block ends."""
    patterns = filter(None, (config.input_file, config.eval_input_file, config.vocab_file))
    reads = [path for pattern in patterns for path in expand_inputs(pattern)]
    reads += filter(None, (config.bert_config_file,))
    with OutputSet(output, [output], reads=reads, overwrite=config.overwrite) as outputs:
        # Keras requires these endings.
        name = "model.keras" if output.endswith(".keras") else "model.weights.h5"
        saved = os.path.join(outputs.work_dir, name)
        yield saved
        with outputs.open(output) as file:
            file.write(read_bytes(saved))
        outputs.commit([output])


def _train_and_evaluate(config: FineTuningConfig) -> TextClassifier:
    data = _open_source(config, config.input_file, for_training=True)
    held_out = None
    if config.eval_input_file:
        held_out = _open_source(config, config.eval_input_file, for_training=False)
        _compare(config, data, held_out)
    _check_labels(config, data)
    model = text_classifier(
        _bert_config(config, data),
        num_labels=data.num_labels,
        random_seed=config.random_seed,
        labels=data.form.classes,
    )
    if config.init_checkpoint:
        load_encoder(model, config.init_checkpoint, vocab_file=config.vocab_file)
    num_steps = data.plan.num_batches * config.num_epochs
    num_warmup_steps = int(config.warmup_proportion * num_steps)
    rate = WarmupLinearDecay(config.learning_rate, num_steps, num_warmup_steps)
    model.compile(AdamWeightDecay(rate))
    try:
        _train(model, data, config)
        if held_out:
            results = model.evaluate(read_labelled_batches(held_out), verbose=0, return_dict=True)
            rounded = {name: round(value, 4) for name, value in results.items()}
            logging.info("%s: %s", config.eval_input_file, json.dumps(rounded))
    except tf.errors.OpError as error:  # for example damaged records
        raise explain(error) from None
    return model


def _open_source(config: FineTuningConfig, pattern: str, *, for_training: bool) -> LabelledSource:
    """Return the records with the plan of their batches; evaluation is unshuffled, of any width."""
    way: dict[str, Any] = WIDTHS[config.batch_width if for_training else "pools"]
    return LabelledSource(
        LabelledReaderConfig(
            input_patterns=pattern,
            num_epochs=None if for_training else 1,
            vocab_file=config.vocab_file,
            text_features=config.text_features,
            label_feature=config.label_feature,
            plan=PlanConfig(
                batch_size=config.batch_size,
                max_seq_length=config.max_seq_length,
                shuffle=for_training,
                seed=config.random_seed,
                **way,
            ),
        )
    )


def _compare(config: FineTuningConfig, data: LabelledSource, held_out: LabelledSource) -> None:
    """Check that a model of some records can be evaluated on others."""
    mine, others = data.form, held_out.form
    both = f"{config.input_file} and {config.eval_input_file}"
    if (mine.vocab_sha256, mine.do_lower_case) != (others.vocab_sha256, others.do_lower_case):
        raise ValueError(f"{both} were made with different vocabularies or values of do_lower_case")
    if len(mine.texts) != len(others.texts):
        raise ValueError(f"{both} have different numbers of texts in a record")
    if mine.classes != others.classes:
        raise ValueError(
            f"{config.eval_input_file} has the classes {_named(others.classes)}, but"
            f" {config.input_file} {_named(mine.classes)}; make it again with the `classes` of"
            f" {config.input_file}, in their order"
        )
    if unknown := sorted(held_out.labels - data.labels):
        names = [mine.classes[label] if mine.classes else str(label) for label in unknown]
        sentence = f"no record of {config.input_file} has the label {_named(names)}, which"
        if not mine.classes:
            raise ValueError(f"{sentence} {config.eval_input_file} has")
        logging.warning("%s %s has", sentence, config.eval_input_file)


def _named(names: Any) -> str:
    more = ", ..." if len(names) > _NUM_NAMED else ""
    return ", ".join(map(repr, names[:_NUM_NAMED])) + more if names else "of integers"


def _check_labels(config: FineTuningConfig, data: LabelledSource) -> None:
    if data.num_labels > MAX_CLASSES:
        raise ValueError(
            f"the largest label is {data.num_labels - 1:,}, which needs {data.num_labels:,}"
            f" classes; at most {MAX_CLASSES:,} are allowed"
        )
    if len(data.labels) < 2:
        label = min(data.labels)
        name = data.form.classes[label] if data.form.classes else label
        raise ValueError(
            f"every record of {config.input_file} has the label {name!r}; a classifier needs two or"
            " more"
        )


def _bert_config(config: FineTuningConfig, source: LabelledSource) -> BertConfig:
    """Return the encoder of the configuration, or a small one."""
    vocab_size = source.form.vocab_size
    if config.bert_config_file is None:
        return BertConfig(
            vocab_size=vocab_size,
            hidden_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=512,
            max_position_embeddings=config.max_seq_length,
            type_vocab_size=2,
            initializer_range=0.06,
        )
    model = BertConfig.load(config.bert_config_file, vocab_size)
    for name, least in (
        ("vocab_size", vocab_size),
        ("max_position_embeddings", source.plan.max_width),
        ("type_vocab_size", source.num_texts),
    ):
        if getattr(model, name) < least:
            setting = f"{name} is {getattr(model, name)} in {config.bert_config_file}"
            raise ValueError(f"{setting}; the records need at least {least}")
    return model


def _train(model: TextClassifier, source: LabelledSource, config: FineTuningConfig) -> None:
    plan, num_epochs = source.plan, config.num_epochs
    padded = plan.epoch(0).num_padded_tokens
    logging.info(
        "%s records in %s batches per epoch, %.1f%% padding (%s)",
        f"{plan.num_records:,}",
        f"{plan.num_batches:,}",
        100 * (1 - plan.num_tokens / padded),
        config.batch_width,
    )
    start = time.monotonic()

    def log_epoch(epoch: int, logs: dict[str, float]) -> None:
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in logs.items())
        seconds = time.monotonic() - start
        logging.info("epoch %d of %d: %s, %.1f s so far", epoch + 1, num_epochs, metrics, seconds)

    model.fit(
        read_labelled_batches(source),
        epochs=num_epochs,
        steps_per_epoch=plan.num_batches,
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=log_epoch)],
        verbose=0,
    )
