r"""Pretrain a BERT on records, and evaluate it, with Google's flags and some more.

    bert-data train --bert_config_file=bert_config.json --input_file='data/train-*' \
        --output_dir=out --do_train --do_eval

Run again with the same flags, it continues from the last checkpoint in --output_dir. On Ctrl-C and
SIGTERM it finishes the current step, saves a checkpoint and ends with a non-zero status.
"""

import dataclasses
import errno
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from absl import flags, logging

from bert_data.cli.entry import run
from bert_data.cli.settings_flags import check_flags, from_flags
from bert_data.cli.shared_flags import one_vocabulary
from bert_data.cli.train_flags import GROUPS, SECTIONS
from bert_data.quiet_tensorflow import quiet_tensorflow
from bert_data.storage import expand_inputs, is_file

if TYPE_CHECKING:
    import tensorflow as tf

    from bert_data.reader import ReaderConfig
    from bert_data.training import BertConfig, DistributionConfig, TrainingConfig

__all__ = ["GROUPS", "SECTIONS", "main"]

FLAGS = flags.FLAGS


def main(_: Sequence[str]) -> None:
    """Train and evaluate as the flags say."""
    if not (FLAGS.do_train or FLAGS.do_eval):
        raise ValueError("nothing to do: set --do_train, --do_eval or both")
    if is_file(FLAGS.output_dir):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", FLAGS.output_dir)
    one_vocabulary(FLAGS.vocab_file, FLAGS.tokenizer_file)
    check_flags("train_batch_size eval_batch_size max_eval_steps")
    check_evaluation()
    from bert_data import training

    config = model_config()
    if FLAGS.max_seq_length > config.max_position_embeddings:
        raise ValueError(
            f"max_seq_length is {FLAGS.max_seq_length}, but the model of {FLAGS.bert_config_file}"
            f" reads up to max_position_embeddings = {config.max_position_embeddings} tokens"
        )
    devices, train_data = distribution(), training_data(config)
    eval_data = evaluation_data(train_data)
    evaluates = FLAGS.do_eval or FLAGS.eval_every_steps is not None
    configs = [train_data] * FLAGS.do_train + [eval_data] * evaluates
    if FLAGS.do_train:
        settings(train_data, FLAGS.train_batch_size)
    check_data(configs)
    open_batches(configs)
    with quiet_tensorflow():
        strategy = training.make_strategy(devices)
    if FLAGS.do_train:
        train(config, train_data, eval_data, strategy)
    if FLAGS.do_eval and training.is_chief(strategy):
        evaluate(config, eval_data)


def model_config() -> "BertConfig":
    """Return the model of --bert_config_file; a published size has the records' vocabulary."""
    from bert_data.reader import ReaderConfig, vocab_size_of_manifests
    from bert_data.tokens.tokenizer_file import load_tokenizer
    from bert_data.training.config import PUBLISHED_SIZES, PUBLISHED_VOCAB_SIZE, BertConfig

    if FLAGS.bert_config_file not in PUBLISHED_SIZES:
        return BertConfig.load(FLAGS.bert_config_file)
    records = ReaderConfig(input_patterns=FLAGS.input_file, batch_size=1)
    size, source = vocab_size_of_manifests(records), "of the records"
    if size is None and (FLAGS.vocab_file or FLAGS.tokenizer_file):
        size = load_tokenizer(FLAGS.vocab_file, FLAGS.tokenizer_file).id_limit
        source = f"of {FLAGS.vocab_file or FLAGS.tokenizer_file}"
    if size is None:
        size, source = PUBLISHED_VOCAB_SIZE, "of Google's uncased vocabulary"
    config = BertConfig.load(FLAGS.bert_config_file, size)
    logging.info("the model is %s, with the %d tokens %s", FLAGS.bert_config_file, size, source)
    return config


def check_evaluation() -> None:
    """Check the evaluation flags for contradictions."""
    if FLAGS.eval_every_steps is not None:
        if not FLAGS.do_train:
            raise ValueError("--eval_every_steps needs --do_train; --do_eval evaluates once")
        if not FLAGS.eval_input_file:
            raise ValueError(
                "--eval_every_steps needs --eval_input_file, records that training does not read"
            )
    if FLAGS.eval_input_file:
        both = {*expand_inputs(FLAGS.input_file)} & {*expand_inputs(FLAGS.eval_input_file)}
        if both:
            logging.warning(
                "--eval_input_file names %d of the files that training reads, such as %s: results"
                " on them say nothing about new text",
                *(len(both), min(both)),
            )
    if FLAGS.eval_input_file and not FLAGS.do_eval and FLAGS.eval_every_steps is None:
        logging.warning(
            "--eval_input_file is not read: set --eval_every_steps to evaluate while training, or"
            " --do_eval to evaluate afterwards"
        )


def distribution() -> "DistributionConfig":
    """Return the devices of the flags."""
    from bert_data.training import DistributionConfig

    return from_flags(
        DistributionConfig,
        distribution="tpu" if FLAGS.use_tpu else FLAGS.distribution,
        tpu_name=FLAGS.tpu_name or FLAGS.master,
    )


def training_data(config: "BertConfig") -> "ReaderConfig":
    """Return what training reads: without end, shuffled."""
    from bert_data.reader import ReaderConfig
    from bert_data.training.reading import training_order

    return from_flags(
        ReaderConfig,
        **training_order(
            FLAGS.input_file,
            batching=FLAGS.batching,
            width=width(),
            is_static=has_static_shapes(),
            dynamic_masking=FLAGS.dynamic_masking,
            remote_cache_bytes=FLAGS.remote_cache_bytes,
        ),
        batch_size=None if FLAGS.max_tokens_per_batch else FLAGS.train_batch_size,
        seed=FLAGS.random_seed,
        vocab_size=config.vocab_size,
        vocab_file=FLAGS.vocab_file or FLAGS.tokenizer_file,
    )


def evaluation_data(train_data: "ReaderConfig") -> "ReaderConfig":
    """Return what evaluation reads."""
    from bert_data.training.reading import evaluation_reader

    return evaluation_reader(
        train_data,
        FLAGS.eval_input_file or FLAGS.input_file,
        batch_size=FLAGS.eval_batch_size,
        width=width(),
        is_static=has_static_shapes(),
    )


def check_data(configs: Sequence["ReaderConfig"]) -> None:
    """Compare the records with the flags, before anything is written."""
    from bert_data.reader import limits_of_manifests, objective_of
    from bert_data.training.reading import vocabulary_of_records

    train_data, eval_data = configs[0], configs[-1]
    asked, asked_later = objective_of(train_data).name, objective_of(eval_data).name
    if asked != asked_later:
        raise ValueError(
            f"--input_file was made with next_sentence {asked}, but --eval_input_file with"
            f" {asked_later}"
        )
    vocabulary_of_records(*configs)
    for data in {data.patterns: data for data in configs}.values():
        limits = dataclasses.asdict(limits_of_manifests(data))
        if data.dynamic_masking:
            del limits["max_predictions_per_seq"]  # it has its own
        elif limits["max_predictions_per_seq"] == 0:
            raise ValueError(
                f"records of {','.join(data.patterns)} have no tokens to predict"
                " (max_predictions_per_seq is 0 in their manifest); --dynamic_masking chooses them"
            )
        larger = [
            f"{name} is {getattr(data, name)}, though their manifest says {limit}"
            for name, limit in limits.items()
            if limit is not None and limit != getattr(data, name)
        ]
        if larger:
            logging.warning("records of %s: %s", ",".join(data.patterns), " and ".join(larger))


def open_batches(configs: Sequence["ReaderConfig"]) -> None:
    """Open the records, so that errors come before anything is written or TensorFlow loaded."""
    from bert_data.reader.sources import make_source

    for data in configs:
        make_source(data)


def has_static_shapes() -> bool:
    """Return whether a step is compiled for each shape of batch."""
    return FLAGS.jit_compile or FLAGS.use_tpu or FLAGS.distribution == "tpu"


def width() -> str | tuple[int, ...] | None:
    """Return the value of --width."""
    if FLAGS.width in (None, "batch", "max"):
        return FLAGS.width
    try:
        return tuple(int(width) for width in FLAGS.width.split(","))
    except ValueError:
        raise ValueError(
            f"width is {FLAGS.width!r}; batch, max or ascending numbers with commas are allowed"
        ) from None


def settings(data: "ReaderConfig", batch_size: int) -> "TrainingConfig":
    """Return the settings of training."""
    from bert_data.reader import objective_of
    from bert_data.training import OptimizerConfig, TrainingConfig

    return from_flags(
        TrainingConfig,
        batch_size=batch_size,
        optimizer=from_flags(OptimizerConfig),
        next_sentence=objective_of(data).name,
    )


def train(
    config: "BertConfig",
    data: "ReaderConfig",
    eval_data: "ReaderConfig",
    strategy: "tf.distribute.Strategy",
) -> None:
    """Train to the last step."""
    from bert_data import training
    from bert_data.reader import describe_order
    from bert_data.training.reading import batches_from, held_out_data, vocabulary_of_records

    # Rows are divided among devices, which counts where tokens bound them; streams among hosts.
    is_by_tokens = data.max_tokens_per_batch is not None
    parts = strategy.num_replicas_in_sync if is_by_tokens else training.num_hosts(strategy)
    of_all = dataclasses.replace(data, num_hosts=parts)
    training.train(
        # Where tokens bound a batch, its rows are a multiple of the devices anyway.
        settings(data, strategy.num_replicas_in_sync if is_by_tokens else FLAGS.train_batch_size),
        config,
        batches_from(data),
        strategy=strategy,
        data_description=json.dumps(describe_order(of_all)),
        vocabulary=vocabulary_of_records(data),
        held_out=None
        if FLAGS.eval_every_steps is None
        else held_out_data(eval_data, FLAGS.max_eval_steps),
    )


def evaluate(config: "BertConfig", data: "ReaderConfig") -> None:
    """Measure the last checkpoint of --output_dir, or else --init_checkpoint, on one device."""
    from bert_data import training
    from bert_data.reader import objective_of, read_batches
    from bert_data.training.hugging_face import find_hugging_face_folder
    from bert_data.training.model_vocabulary import check_vocabulary
    from bert_data.training.reading import vocabulary_of_records

    last = training.last_whole_checkpoint(FLAGS.output_dir, use_older=FLAGS.use_older_checkpoint)
    source = last or FLAGS.init_checkpoint or find_hugging_face_folder(FLAGS.output_dir)
    if not source:
        raise ValueError(
            f"`output_dir={FLAGS.output_dir}` has no checkpoint to evaluate; train first"
        )
    checkpoint = training.open_weights(source)
    check_vocabulary(
        vocabulary_of_records(data),
        checkpoint.prefix,
        vocab_size=config.vocab_size,
        allow_other=FLAGS.allow_other_vocabulary,
    )
    logging.info("evaluating %s", checkpoint.prefix)
    if not FLAGS.eval_input_file:
        logging.warning(
            "evaluating on the records of --input_file, which training reads: the results say"
            " nothing about new text; --eval_input_file names records that were held out"
        )
    model = training.load_pretrained(
        checkpoint.prefix, config, next_sentence=objective_of(data).name
    )
    step = int(checkpoint.read("global_step")) if "global_step" in checkpoint else 0
    results = training.evaluate(model, read_batches(data).take(FLAGS.max_eval_steps))
    training.write_results(FLAGS.output_dir, step, results)


if __name__ == "__main__":
    run(main, groups=GROUPS)
