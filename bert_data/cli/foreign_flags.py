"""Flags of other programs, and what they are called here: for errors, and for docs/migrating.md.

    bert-data create --gzip_compress
      ->  --gzip_compress of tensorflow/models is --compression=gzip here

A flag of Google's programs has its name here, so those are not in the tables.
"""

import re
from collections.abc import Mapping, Set
from typing import NamedTuple

TENSORFLOW_MODELS = "tensorflow/models"
NVIDIA = "NVIDIA DeepLearningExamples"
MEGATRON = "Megatron-LM"


class ForeignFlag(NamedTuple):
    """A flag of another program.

    Attributes:
      program: whose it is.
      name: of the flag.
      ours: what has its effect here; "" if nothing has.
      remark: what else to know: a clause, which follows the rest of the sentence.
    """

    program: str
    name: str
    ours: str
    remark: str = ""


CREATE = (
    ForeignFlag(TENSORFLOW_MODELS, "gzip_compress", "--compression=gzip"),
    ForeignFlag(
        TENSORFLOW_MODELS,
        "use_v2_feature_names",
        "",
        "records keep Google's names; batches get the new ones by"
        " ReaderConfig(feature_names='tfhub')",
    ),
    ForeignFlag(
        TENSORFLOW_MODELS,
        "max_ngram_size",
        "",
        "--do_whole_word_mask masks whole words, but each by itself",
    ),
)
TRAIN = (
    ForeignFlag(NVIDIA, "input_files_dir", "--input_file='DIR/*'"),
    ForeignFlag(NVIDIA, "eval_files_dir", "--eval_input_file='DIR/*'"),
    ForeignFlag(NVIDIA, "input_files", "--input_file"),
    ForeignFlag(NVIDIA, "model_dir", "--output_dir"),
    ForeignFlag(NVIDIA, "optimizer_type", "--optimizer", "with adamw or lamb"),
    ForeignFlag(NVIDIA, "use_fp16", "--mixed_precision=float16"),
    ForeignFlag(NVIDIA, "manual_fp16", "--mixed_precision=float16"),
    ForeignFlag(NVIDIA, "use_xla", "--jit_compile"),
    ForeignFlag(NVIDIA, "enable_xla", "--jit_compile"),
    ForeignFlag(NVIDIA, "display_loss_steps", "--log_every_steps"),
    ForeignFlag(NVIDIA, "save_checkpoint_steps", "--save_checkpoints_steps"),
    ForeignFlag(NVIDIA, "warmup_steps", "--num_warmup_steps"),
    ForeignFlag(NVIDIA, "steps_per_loop", "--iterations_per_loop"),
    ForeignFlag(
        NVIDIA, "num_steps_per_epoch", "--num_train_steps", "which counts the steps of all epochs"
    ),
    ForeignFlag(
        NVIDIA, "num_train_epochs", "--num_train_steps", "which counts the steps of all epochs"
    ),
    ForeignFlag(NVIDIA, "distribution_strategy", "--distribution"),
    ForeignFlag(NVIDIA, "tpu", "--use_tpu --tpu_name"),
    ForeignFlag(
        NVIDIA,
        "num_gpus",
        "--distribution=mirrored",
        "which uses all that CUDA_VISIBLE_DEVICES names",
    ),
    ForeignFlag(
        NVIDIA,
        "horovod",
        "--distribution",
        "with mirrored for the GPUs of a machine, multi_worker for those of several",
    ),
    ForeignFlag(
        NVIDIA,
        "use_horovod",
        "--distribution",
        "with mirrored for the GPUs of a machine, multi_worker for those of several",
    ),
    ForeignFlag(NVIDIA, "init_loss_scale", "", "the loss scale adapts itself"),
    ForeignFlag(NVIDIA, "allreduce_post_accumulation", "", "gradients are always added up first"),
    ForeignFlag(NVIDIA, "report_loss", "", "the log always has the losses"),
    ForeignFlag(NVIDIA, "verbose_logging", "", "the log does not list the variables"),
    ForeignFlag(NVIDIA, "dllog_path", "", "metrics.jsonl in --output_dir has the metrics"),
)
TOKENIZE = (
    ForeignFlag(MEGATRON, "input", "--input_file"),
    ForeignFlag(MEGATRON, "json-keys", "--text_field", "which names one field; run once for each"),
    ForeignFlag(MEGATRON, "split-sentences", "--level=sentence"),
    ForeignFlag(MEGATRON, "lang", "--language", "with a code such as en instead of a name"),
    ForeignFlag(
        MEGATRON, "keep-newlines", "", "a document keeps its line ends, a sentence has none"
    ),
    ForeignFlag(MEGATRON, "append-eod", "--append_eod"),
    ForeignFlag(
        MEGATRON,
        "output-prefix",
        "--output_prefix",
        "the store is PREFIX.bin and PREFIX.idx, without _text_document",
    ),
    ForeignFlag(MEGATRON, "workers", "--num_workers"),
    ForeignFlag(
        MEGATRON, "keep-sequential-samples", "", "partitions always have the order of the text"
    ),
    ForeignFlag(MEGATRON, "dataset-impl", "", "stores are always of the kind mmap"),
    ForeignFlag(MEGATRON, "log-interval", "", "progress is shown all the time"),
    ForeignFlag(
        MEGATRON,
        "tokenizer-type",
        "--vocab_file or --tokenizer_file",
        "a WordPiece vocabulary or a tokenizer.json; for Bert...Case also --nodo_lower_case",
    ),
    ForeignFlag(MEGATRON, "tokenizer-model", "--tokenizer_file", "with a tokenizer.json"),
    ForeignFlag(
        MEGATRON, "vocab-file", "--vocab_file", "or, for GPT-2's vocab.json, --tokenizer_file"
    ),
    ForeignFlag(
        MEGATRON, "merge-file", "--tokenizer_file", "with a tokenizer.json, which holds the merges"
    ),
)
FOREIGN: Mapping[str, tuple[ForeignFlag, ...]] = {
    "create": CREATE,
    "train": TRAIN,
    "tokenize": TOKENIZE,
}
"""By the command that does here what the program does."""


def explain(name: str, known: Set[str]) -> str | None:
    """Return a sentence about a flag that a command does not have, or None.

    Args:
      name: that was typed, without dashes before it or a value.
      known: names of the command's flags.
    """
    plain = name.replace("-", "_")
    if plain in known:
        return f"--{name} is written --{plain} here"
    bare = plain.removeprefix("no") if plain.startswith("no") else plain
    for command, table in FOREIGN.items():
        for flag in table:
            if flag.name.replace("-", "_") in (plain, bare):
                ours = re.findall(r"--(\w+)", flag.ours)
                where = "here" if set(ours) <= known else f"of bert-data {command}"
                return _sentence(flag, where)
    return None


def _sentence(flag: ForeignFlag, where: str) -> str:
    if not flag.ours:
        return f"--{flag.name} of {flag.program} has no counterpart here: {flag.remark}"
    remark = f", {flag.remark}" if flag.remark else ""
    return f"--{flag.name} of {flag.program} is {flag.ours} {where}{remark}"
