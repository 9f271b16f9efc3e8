r"""Pretrain a BERT on records, and evaluate it, with Google's flags and some more.

    bert-data train --bert_config_file=bert_config.json \
        --input_file='data/train-*' --output_dir=out --do_train --do_eval

The same command, run again, continues from the last checkpoint in --output_dir. On Ctrl-C and
SIGTERM it finishes the current step, saves a checkpoint and ends with a non-zero status.
"""

import dataclasses
import errno
import functools
from collections.abc import Callable, Sequence
from typing import Any

from absl import flags, logging

from bert_data import storage
from bert_data.cli.entry import run
from bert_data.cli.settings_flags import Section, from_flags, given, settings
from bert_data.cli.shared_flags import one_vocabulary
from bert_data.quiet_tensorflow import quiet_tensorflow
from bert_data.reader.config import READER_BATCHINGS, ReaderConfig
from bert_data.reader.planning.plan_config import BUCKETS, POOLS
from bert_data.training.bert_config import BertConfig
from bert_data.training.training_config import (
    DistributionConfig,
    EvaluationConfig,
    OptimizerConfig,
    TrainingConfig,
)

GROUPS = {  # what --help shows first
    "common": "bert_config_file input_file recipe output_dir init_checkpoint do_train do_eval"
    " train_batch_size learning_rate num_train_steps num_warmup_steps max_seq_length"
    " max_predictions_per_seq save_checkpoints_steps eval_input_file eval_every_steps"
    " vocab_file tokenizer_file",
    "optimizer": "optimizer num_accumulation_steps weight_decay adam_beta1 adam_beta2 adam_epsilon"
    " clip_norm num_schedule_steps continue_from continue_with",
    "batches": "batching pool_batches num_buckets max_tokens_per_batch width"
    " remote_cache_bytes next_sentence skip_corrupt",
    "devices": "distribution num_cpu_devices mixed_precision jit_compile use_tpu tpu_name tpu_zone"
    " gcp_project master num_tpu_cores iterations_per_loop",
}

_AUTO = "auto"
FLAGS = flags.FLAGS


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFlags:
    """The flags of this command alone.

    Attributes:
      bert_config_file: the model.
      input_file: records, as TFRecord: files or patterns, separated by commas.
      recipe: instead of `input_file`: a recipe (YAML), which makes batches from token stores.
        Training ends with its last stage, or after `num_train_steps` if that is given and lower.
      do_train: train. bert-data train does so by default with `recipe`, and without `do_eval`.
      do_eval: evaluate the last checkpoint.
      eval_input_file: held-out records for `do_eval` and `eval_every_steps`; `do_eval` alone reads
        those of `input_file` by default.
      use_tpu: train on a TPU; `use_tpu=false` trains without the one that `tpu_name` names.
      master: address of the TPU, if `tpu_name` is not set.
      tokenizer_file: the same as `vocab_file` for a tokenizer.json.
    """

    bert_config_file: str
    input_file: str | None = None
    recipe: str | None = None
    do_train: bool | None = None
    do_eval: bool = False
    eval_input_file: str | None = None
    use_tpu: bool = False
    master: str | None = None
    tokenizer_file: str | None = None


_MODEL = {
    "help": f"{BertConfig.describe_file()} A published size has the vocabulary of the records."
}
_OF_READER = (
    "max_seq_length max_predictions_per_seq batching pool_batches num_buckets max_tokens_per_batch"
    " width vocab_file next_sentence skip_corrupt remote_cache_bytes"
)
_CHANGES: dict[str, dict[str, Any]] = {
    "pool_batches": {"only_with": f"batching={POOLS},{_AUTO}"},
    "num_buckets": {"only_with": f"batching={BUCKETS},{_AUTO}"},
    "max_seq_length": {"default": 128},
    "max_predictions_per_seq": {"default": 20},
    "batching": {
        "default": _AUTO,
        "choices": (_AUTO, *READER_BATCHINGS),
        "more_help": " auto: buckets with `jit_compile` and on TPUs, otherwise pools; stream for"
        " compressed files, and for remote ones larger than `remote_cache_bytes`.",
    },
    "width": {
        "kind": str,
        "default": None,
        "former": "batch_width",
        "more_help": " XLA and TPUs compile once per width, so there the default is max for stream"
        " and plain; elsewhere it is batch.",
    },
}
_OF_TRAINING = {
    "batch_size": {"name": "train_batch_size"},
    "eval_every_steps": {"more_help": " Needs `eval_input_file`."},
}
SECTIONS = (
    Section("", settings(RunFlags, changes={"bert_config_file": _MODEL})),
    Section("", settings(EvaluationConfig)),
    Section("", settings(TrainingConfig, without="next_sentence optimizer", changes=_OF_TRAINING)),
    Section("", settings(OptimizerConfig)),
    Section("", settings(DistributionConfig)),
    Section("", settings(ReaderConfig, _OF_READER, changes=_CHANGES)),
)


def main(_: Sequence[str]) -> None:
    """Train, and evaluate, as the flags say."""
    if FLAGS.do_train is None:
        FLAGS["do_train"].value = bool(FLAGS.recipe) or not FLAGS.do_eval
    if not (FLAGS.do_train or FLAGS.do_eval):
        raise ValueError("nothing to do: --nodo_train is set, and --do_eval is not")
    train_and_evaluate()


def train_and_evaluate() -> None:
    """Train if --do_train is set, and evaluate if --do_eval is."""
    if not (FLAGS.input_file or FLAGS.recipe):
        raise ValueError("there is nothing to read: set --input_file or --recipe")
    if storage.is_file(FLAGS.output_dir):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", FLAGS.output_dir)
    one_vocabulary(FLAGS.vocab_file, FLAGS.tokenizer_file)
    evaluation = from_flags(EvaluationConfig)
    _check_evaluation()
    from bert_data import training
    from bert_data.cli.train_recipe import open_recipe
    from bert_data.reader.sources import make_source
    from bert_data.training.reader_configs import held_out_data

    evaluates_often = FLAGS.eval_every_steps is not None
    config, train, configs = (open_recipe if FLAGS.recipe else _open_records)(
        evaluation.eval_batch_size if FLAGS.do_eval or evaluates_often else None,
        is_static=FLAGS.jit_compile or FLAGS.use_tpu or FLAGS.distribution == "tpu",
    )
    without_tpu = given("use_tpu") is False and FLAGS.distribution != "tpu"
    devices = from_flags(
        DistributionConfig,
        distribution="tpu" if FLAGS.use_tpu else FLAGS.distribution,
        tpu_name=None if without_tpu else FLAGS.tpu_name or FLAGS.master,
    )
    for data in configs:  # errors come before anything is written or TensorFlow loaded
        make_source(data)
    with quiet_tensorflow():
        strategy = training.make_strategy(devices)
    max_steps = evaluation.max_eval_steps
    if FLAGS.do_train:
        held_out = held_out_data(configs[-1], max_steps) if evaluates_often else None
        train(held_out=held_out, strategy=strategy)
    if FLAGS.do_eval and training.is_chief(strategy):
        _evaluate(config, configs[-1], max_steps)


def _check_evaluation() -> None:
    """Check the evaluation flags for contradictions."""
    if FLAGS.eval_input_file and not FLAGS.do_eval and FLAGS.eval_every_steps is None:
        raise ValueError("--eval_input_file needs --do_eval or --eval_every_steps")
    if FLAGS.eval_every_steps is not None:
        if not FLAGS.do_train:
            raise ValueError("--eval_every_steps needs --do_train; --do_eval evaluates once")
        if not FLAGS.eval_input_file:
            raise ValueError(
                "--eval_every_steps needs --eval_input_file, records that training does not read"
            )
    if FLAGS.eval_input_file and FLAGS.input_file:
        files = map(storage.expand_inputs, (FLAGS.input_file, FLAGS.eval_input_file))
        both = set.intersection(*map(set, files))
        if both:
            logging.warning(
                "--eval_input_file names %d of the files that training reads, such as %s: results"
                " on them say nothing about new text",
                *(len(both), min(both)),
            )


def _open_records(
    eval_batch_size: int | None, *, is_static: bool
) -> tuple[BertConfig, Callable[..., object], list[ReaderConfig]]:
    """Do as `open_recipe` does for records: what training reads comes first, evaluation's last."""
    from bert_data.reader import objective_of
    from bert_data.training import reader_configs

    vocab_file, width = FLAGS.vocab_file or FLAGS.tokenizer_file, _width()
    config = reader_configs.model_of_records(FLAGS.bert_config_file, FLAGS.input_file, vocab_file)
    if FLAGS.max_seq_length > config.max_position_embeddings:
        raise ValueError(
            f"max_seq_length is {FLAGS.max_seq_length}, but the model of {FLAGS.bert_config_file}"
            f" reads up to max_position_embeddings = {config.max_position_embeddings} tokens"
        )
    order = reader_configs.training_order(
        FLAGS.input_file, batching=FLAGS.batching, width=width, is_static=is_static,
        remote_cache_bytes=FLAGS.remote_cache_bytes,
    )  # fmt: skip
    data = from_flags(
        ReaderConfig,
        **order,
        batch_size=None if FLAGS.max_tokens_per_batch else FLAGS.train_batch_size,
        seed=FLAGS.random_seed,
        vocab_size=config.vocab_size,
        vocab_file=vocab_file,
    )
    configs: list[ReaderConfig] = []
    train: Callable[..., object] = reader_configs.train_on_records
    if FLAGS.do_train:
        run_config = from_flags(
            TrainingConfig,
            batch_size=FLAGS.train_batch_size,
            optimizer=from_flags(OptimizerConfig),
            next_sentence=objective_of(data).name,
        )
        configs.append(data)
        train = functools.partial(train, run_config, config, data)
    if eval_batch_size is not None:
        names = FLAGS.eval_input_file or FLAGS.input_file
        configs.append(
            reader_configs.evaluation_reader(
                data, names, batch_size=eval_batch_size, width=width, is_static=is_static
            )
        )
    reader_configs.check_records(configs)
    return config, train, configs


def _width() -> str | tuple[int, ...] | None:
    if FLAGS.width in (None, "batch", "max"):
        return FLAGS.width
    try:
        return tuple(int(width) for width in FLAGS.width.split(","))
    except ValueError:
        raise ValueError(
            f"width is {FLAGS.width!r}; batch, max or ascending numbers with commas are allowed"
        ) from None


def _evaluate(config: BertConfig, data: ReaderConfig, max_steps: int) -> None:
    """Measure the last checkpoint of --output_dir, or else --init_checkpoint, on one device."""
    from bert_data import training
    from bert_data.reader import objective_of, read_batches
    from bert_data.training.hugging_face_weights import find_hugging_face_folder
    from bert_data.training.model_vocabulary import check_vocabulary
    from bert_data.training.reader_configs import vocabulary_of_records

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
    results = training.evaluate(model, read_batches(data).take(max_steps))
    training.write_results(FLAGS.output_dir, step, results)


if __name__ == "__main__":
    run(main, groups=GROUPS)
