r"""Train a text classifier on the records of `examples.classify.write_records`.

    python -m examples.classify.train --input_file='data/train-*' --eval_input_file='data/test-*'

    # fine-tune a pretrained BERT, with all batches of one width for comparison
    python -m examples.classify.train --input_file='data/train-*' --eval_input_file='data/test-*' \
        --bert_config_file=uncased/bert_config.json --init_checkpoint=uncased/bert_model.ckpt \
        --learning_rate=2e-5 --batching=fixed

Texts are packed as [CLS] text [SEP], pairs as [CLS] text [SEP] text [SEP]; longer ones are
truncated to --max_seq_length, in pairs the longer text first. The width of a batch:

    fixed    --max_seq_length, always
    longest  its longest row; rows come in random order
    pools    its longest row; rows are sorted by length in pools of 64 batches: hardly any padding
    buckets  one of eight widths that fit the lengths: for XLA, which compiles each width once
"""

import json
import os
import shutil
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from absl import flags, logging

from bert_data.checks import check_bounds
from bert_data.cli import entry
from bert_data.labelled.columns import MAX_CLASSES

if TYPE_CHECKING:
    from bert_data.labelled.batches import LabelledSource
    from bert_data.labelled.classifier import TextClassifier
    from bert_data.training import BertConfig

_INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "Training records: files or patterns, separated by commas.", required=True
)
_EVAL_INPUT_FILE = flags.DEFINE_string(
    "eval_input_file", None, "Records to evaluate on, made with the same vocabulary and classes."
)
_BERT_CONFIG_FILE = flags.DEFINE_string(
    "bert_config_file",
    None,
    "JSON file with the sizes of the encoder, or a size that Google published, such as mini; by"
    " default, 2 layers of width 128.",
)
_INIT_CHECKPOINT = flags.DEFINE_string(
    "init_checkpoint", None, "Pretrained BERT checkpoint to start the encoder from."
)
_BATCHING = flags.DEFINE_enum(
    "batching",
    "pools",
    ["fixed", "longest", "pools", "buckets"],
    "How wide batches are; see above.",
)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "Number of rows in a batch.")
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", 128, "Maximum number of tokens in a row, including [CLS] and [SEP]."
)
_NUM_EPOCHS = flags.DEFINE_integer("num_epochs", 3, "Number of passes over the records.")
_LEARNING_RATE = flags.DEFINE_float("learning_rate", 4e-4, "Peak learning rate of Adam.")
_WARMUP_PROPORTION = flags.DEFINE_float(
    "warmup_proportion", 0.1, "Proportion of the steps in which the learning rate rises."
)
_RANDOM_SEED = flags.DEFINE_integer(
    "random_seed", 12345, "Seed for the weights, dropout and the order of the records."
)
_OUTPUT_FILE = flags.DEFINE_string(
    "output_file",
    None,
    "Where to save the model: a name that ends with .keras, for Keras's load_model and for the step"
    " model_score of curate; any other receives the weights alone, for load_weights (default: it is"
    " not saved).",
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace the output file if it exists.")


def main(_: Sequence[str]) -> None:
    """Train, evaluate, and save the model."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    for flag, low, high in (
        (_NUM_EPOCHS, 1, 1_000_000),
        (_WARMUP_PROPORTION, 0, 0.999),
        (_LEARNING_RATE, 1e-12, 1000),
        (_RANDOM_SEED, -(2**63), 2**63 - 1),
    ):
        check_bounds(flag.name, flag.value, low, high)
    from bert_data.storage import OutputSet, expand_inputs

    output = _OUTPUT_FILE.value
    if output is None:
        run()
        return
    flags_of_inputs = (_INPUT_FILE, _EVAL_INPUT_FILE, _BERT_CONFIG_FILE)
    patterns = [flag.value for flag in flags_of_inputs if flag.value]
    reads = [path for pattern in patterns for path in expand_inputs(pattern)]
    with OutputSet(output, [output], reads=reads, overwrite=_OVERWRITE.value) as outputs:
        model = run()
        is_whole = output.endswith(".keras")  # Keras requires these endings
        name = "model.keras" if is_whole else "model.weights.h5"
        saved = os.path.join(outputs.work_dir, name)
        (model.save if is_whole else model.save_weights)(saved)
        with open(saved, "rb") as content, outputs.open(output) as file:
            shutil.copyfileobj(content, file)
        outputs.commit([output])
    logging.info("wrote %s", output)


def run() -> "TextClassifier":
    """Make the model, train it and evaluate it."""
    import tensorflow as tf

    from bert_data.labelled.classifier import load_encoder, text_classifier
    from bert_data.reader import explain
    from bert_data.training import AdamWeightDecay, WarmupLinearDecay

    data = open_source(_INPUT_FILE.value, for_training=True)
    held_out = None
    if _EVAL_INPUT_FILE.value:
        held_out = open_source(_EVAL_INPUT_FILE.value, for_training=False)
        if held_out.vocabulary_and_classes != data.vocabulary_and_classes:
            raise ValueError(
                f"{_INPUT_FILE.value} and {_EVAL_INPUT_FILE.value} were made with different"
                " vocabularies or classes"
            )
    num_labels = max(data.num_labels, held_out.num_labels if held_out else 0)
    if num_labels > MAX_CLASSES:
        raise ValueError(
            f"the largest label is {num_labels - 1:,}, for a classifier of as many classes;"
            f" {MAX_CLASSES:,} classes are allowed"
        )
    model = text_classifier(
        bert_config(data),
        num_labels=num_labels,
        random_seed=_RANDOM_SEED.value,
        labels=data.classes,
    )
    if _INIT_CHECKPOINT.value:
        load_encoder(model, _INIT_CHECKPOINT.value)
    num_steps = data.plan.num_batches * _NUM_EPOCHS.value
    num_warmup_steps = int(_WARMUP_PROPORTION.value * num_steps)
    rate = WarmupLinearDecay(_LEARNING_RATE.value, num_steps, num_warmup_steps)
    model.compile(AdamWeightDecay(rate))
    try:
        train(model, data)
        if held_out:
            measure(model, held_out)
    except tf.errors.OpError as error:  # for example damaged records
        raise explain(error) from None
    return model


def open_source(pattern: str, *, for_training: bool) -> "LabelledSource":
    """Return the records with the plan of their batches; evaluation is unshuffled, of any width."""
    from bert_data.labelled.batches import LabelledReaderConfig, LabelledSource
    from bert_data.reader.planning import PlanConfig

    length = _MAX_SEQ_LENGTH.value
    ways: dict[str, dict[str, Any]] = {
        "fixed": {"width": "max"},
        "longest": {},
        "pools": {"batching": "pools"},
        "buckets": {"batching": "buckets"},
    }
    return LabelledSource(
        LabelledReaderConfig(
            input_patterns=pattern,
            num_epochs=None if for_training else 1,
            plan=PlanConfig(
                batch_size=_BATCH_SIZE.value,
                max_seq_length=length,
                shuffle=for_training,
                seed=_RANDOM_SEED.value,
                **ways[_BATCHING.value if for_training else "pools"],
            ),
        )
    )


def bert_config(source: "LabelledSource") -> "BertConfig":
    """Return the encoder of --bert_config_file, or a small one."""
    from bert_data.training import BertConfig

    if _BERT_CONFIG_FILE.value is None:
        return BertConfig(
            vocab_size=source.vocab_size,
            hidden_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=512,
            max_position_embeddings=_MAX_SEQ_LENGTH.value,
            type_vocab_size=2,
            initializer_range=0.06,
        )
    config = BertConfig.load(_BERT_CONFIG_FILE.value, source.vocab_size)
    for name, least in (
        ("vocab_size", source.vocab_size),
        ("max_position_embeddings", source.plan.max_width),
        ("type_vocab_size", source.num_texts),
    ):
        if getattr(config, name) < least:
            setting = f"{name} is {getattr(config, name)} in {_BERT_CONFIG_FILE.value}"
            raise ValueError(f"{setting}; the records need at least {least}")
    return config


def train(model: "TextClassifier", source: "LabelledSource") -> None:
    """Train, and log the metrics of each epoch."""
    import keras

    from bert_data.labelled.batches import read_labelled_batches

    plan = source.plan
    padded = plan.epoch(0).num_padded_tokens
    logging.info(
        "%s records in %s batches per epoch, %.1f%% padding (%s)",
        f"{plan.num_records:,}",
        f"{plan.num_batches:,}",
        100 * (1 - plan.num_tokens / padded),
        _BATCHING.value,
    )
    num_epochs, start = _NUM_EPOCHS.value, time.monotonic()

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


def measure(model: "TextClassifier", source: "LabelledSource") -> None:
    """Evaluate on the held-out records."""
    from bert_data.labelled.batches import read_labelled_batches

    results = model.evaluate(read_labelled_batches(source), verbose=0, return_dict=True)
    rounded = {name: round(value, 4) for name, value in results.items()}
    logging.info("%s: %s", _EVAL_INPUT_FILE.value, json.dumps(rounded))


if __name__ == "__main__":
    entry.run(main)
