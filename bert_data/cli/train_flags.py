"""The flags of training: Google's, and some more."""

from typing import Any

from bert_data.cli.settings_flags import Section, flag, settings
from bert_data.reader.config import READER_BATCHINGS, ReaderConfig
from bert_data.settings import REQUIRED, Within
from bert_data.training.config import BertConfig
from bert_data.training.training_config import DistributionConfig, OptimizerConfig, TrainingConfig

GROUPS = {  # what --help shows first
    "common": "bert_config_file input_file output_dir init_checkpoint do_train do_eval"
    " train_batch_size learning_rate num_train_steps num_warmup_steps max_seq_length"
    " max_predictions_per_seq save_checkpoints_steps eval_input_file eval_every_steps"
    " vocab_file tokenizer_file",
    "optimizer": "optimizer num_accumulation_steps weight_decay adam_beta1 adam_beta2 adam_epsilon"
    " clip_norm num_schedule_steps continue_from continue_with",
    "batches": "batching pool_batches num_buckets max_tokens_per_batch width"
    " remote_cache_bytes dynamic_masking masked_lm_prob do_whole_word_mask masking max_ngram"
    " favor_shorter_ngrams next_sentence skip_corrupt",
    "devices": "distribution num_cpu_devices mixed_precision jit_compile use_tpu tpu_name tpu_zone"
    " gcp_project master num_tpu_cores iterations_per_loop",
}

_AUTO = "auto"
_RUN = (
    flag(
        "bert_config_file",
        REQUIRED,
        f"{BertConfig.describe_file()} A published size has the vocabulary of the records.",
    ),
    flag(
        "input_file",
        REQUIRED,
        "Records, as TFRecord or Parquet: files or patterns, separated by commas.",
    ),
    flag("do_train", False, "Train."),
    flag("do_eval", False, "Evaluate the last checkpoint."),
    flag(
        "train_batch_size",
        32,
        "Examples per batch, over all devices. A training step reads `num_accumulation_steps` of"
        " them.",
        constraint=Within(1),
    ),
    flag("eval_batch_size", 8, "Examples per evaluation step.", constraint=Within(1)),
    flag(
        "max_eval_steps",
        100,
        "Maximum number of evaluation steps; evaluation also ends with the data.",
        constraint=Within(1),
    ),
    flag(
        "eval_input_file",
        None,
        "Held-out records for `do_eval` and `eval_every_steps`; `do_eval` alone reads those of"
        " `input_file` by default.",
    ),
    flag("use_tpu", False, "Train on a TPU."),
    flag("master", None, "Address of the TPU, if `tpu_name` is not set."),
    flag("tokenizer_file", None, "The same as `vocab_file` for a tokenizer.json."),
)
_OF_READER = (
    "max_seq_length max_predictions_per_seq batching pool_batches num_buckets max_tokens_per_batch"
    " width vocab_file dynamic_masking masked_lm_prob do_whole_word_mask masking"
    " max_ngram favor_shorter_ngrams next_sentence skip_corrupt"
    " remote_cache_bytes"
)
_CHANGES: dict[str, dict[str, Any]] = {
    "masked_lm_prob": {"help": "With `dynamic_masking`: share of tokens to predict."},
    "do_whole_word_mask": {"help": "With `dynamic_masking`: mask all pieces of a word together."},
    "max_seq_length": {
        "default": 128,
        "help": "Length of the longest sequence in the records, in tokens.",
    },
    "max_predictions_per_seq": {
        "default": 20,
        "help": "Maximum number of masked tokens of a sequence.",
    },
    "batching": {
        "default": _AUTO,
        "choices": (_AUTO, *READER_BATCHINGS),
        "help": "Which sequences share a batch. stream: successive ones, shuffled in a buffer. The"
        " others plan an epoch from the lengths of all sequences, so that shuffling is complete and"
        " a restart resumes at once. plain: any lengths together; pools: similar lengths, with"
        " almost no padding; buckets: a few widths, for XLA and TPUs; packed: several sequences per"
        " row, which do not attend to each other, so that a row has about `max_seq_length` tokens."
        " auto: buckets with `jit_compile` and on TPUs, otherwise pools; stream for compressed"
        " files, for remote ones larger than `remote_cache_bytes`, and for Parquet whose plan would"
        " keep more than 1 GB in memory.",
    },
    "width": {
        "kind": str,
        "default": None,
        "former": "batch_width",
        "help": "Width of a batch. batch: its longest sequence (with buckets, the next of"
        " `num_buckets` widths). max: `max_seq_length`. Or ascending widths, such as 64,96,128;"
        " packed takes one, at least `max_seq_length`. XLA and TPUs compile once per width, so"
        " there the default is max for stream and plain; elsewhere it is batch.",
    },
}
_HELD_OUT = {"eval_every_steps": {"more_help": " Needs `eval_input_file`."}}
SECTIONS = (
    Section("", _RUN),
    Section(
        "",
        settings(TrainingConfig, without="batch_size next_sentence optimizer", changes=_HELD_OUT),
    ),
    Section("", settings(OptimizerConfig)),
    Section("", settings(DistributionConfig)),
    Section("", settings(ReaderConfig, _OF_READER, changes=_CHANGES)),
)
