"""Flags of other programs, and what they are called here: for errors, and for docs/migrating.md.

    bert-data create --gzip_compress
      ->  --gzip_compress of tensorflow/models is --compression=gzip here

A flag of Google's programs has its name here, so those are not in the tables.
"""

import re
from collections.abc import Mapping, Set
from typing import NamedTuple

TENSORFLOW_MODELS = "tensorflow/models"
ALBERT = "google-research/albert"
NVIDIA = "NVIDIA DeepLearningExamples"
MEGATRON = "Megatron-LM"
TRANSFORMERS = "transformers"


class ForeignFlag(NamedTuple):
    """A flag of another program.

    Attributes:
      ours: what has its effect here; "" if nothing has.
      remark: what else to know: a clause, which follows the rest of the sentence.
    """

    program: str
    name: str
    ours: str
    remark: str = ""


def _flags_of(program: str, *rows: tuple[str, ...]) -> tuple[ForeignFlag, ...]:
    return tuple(ForeignFlag(program, *row) for row in rows)


CREATE = _flags_of(
    TENSORFLOW_MODELS,
    ("gzip_compress", "--compression=gzip"),
    (
        "use_v2_feature_names",
        "",
        "records keep Google's names; batches get the new ones by"
        " ReaderConfig(feature_names='tfhub')",
    ),
    ("max_ngram_size", "--masking=ngrams --max_ngram", "the n-grams are those of ALBERT"),
) + _flags_of(
    ALBERT,
    ("ngram", "--masking=ngrams --max_ngram"),
    ("favor_shorter_ngram", "--favor_shorter_ngrams", "with --masking=ngrams"),
    ("random_next_sentence", "--next_sentence=nsp", "and where it is false --next_sentence=sop"),
    ("do_permutation", "", "it is false"),
    ("spm_model_file", "--tokenizer_file"),
    ("input_file_mode", "", "text is read as bytes"),
)
TRAIN = _flags_of(
    NVIDIA,
    ("input_files_dir", "--input_file='DIR/*'"),
    ("eval_files_dir", "--eval_input_file='DIR/*'"),
    ("input_files", "--input_file"),
    ("model_dir", "--output_dir"),
    ("optimizer_type", "--optimizer", "with adamw or lamb"),
    ("use_fp16", "--mixed_precision=float16"),
    ("manual_fp16", "--mixed_precision=float16"),
    ("use_xla", "--jit_compile"),
    ("enable_xla", "--jit_compile"),
    ("display_loss_steps", "--log_every_steps"),
    ("save_checkpoint_steps", "--save_checkpoints_steps"),
    ("warmup_steps", "--num_warmup_steps"),
    ("steps_per_loop", "--iterations_per_loop"),
    ("num_steps_per_epoch", "--num_train_steps", "which counts the steps of all epochs"),
    ("num_train_epochs", "--num_train_steps", "which counts the steps of all epochs"),
    ("distribution_strategy", "--distribution"),
    ("tpu", "--use_tpu --tpu_name"),
    ("num_gpus", "--distribution=mirrored", "which uses all that CUDA_VISIBLE_DEVICES names"),
    (
        "horovod",
        "--distribution",
        "with mirrored for the GPUs of a machine, multi_worker for those of several",
    ),
    (
        "use_horovod",
        "--distribution",
        "with mirrored for the GPUs of a machine, multi_worker for those of several",
    ),
    ("init_loss_scale", "", "the loss scale adapts itself"),
    ("allreduce_post_accumulation", "", "gradients are always added up first"),
    ("report_loss", "", "the log always has the losses"),
    ("verbose_logging", "", "the log does not list the variables"),
    ("dllog_path", "", "metrics.jsonl in --output_dir has the metrics"),
) + _flags_of(
    TRANSFORMERS,
    ("model_name_or_path", "--init_checkpoint"),
    ("train_file", "--input_file", "with records of bert-data create"),
    ("validation_file", "--eval_input_file"),
    ("per_device_train_batch_size", "--train_batch_size", "which counts all devices"),
    ("per_device_eval_batch_size", "--eval_batch_size"),
    ("gradient_accumulation_steps", "--num_accumulation_steps"),
    ("max_steps", "--num_train_steps"),
    ("eval_steps", "--eval_every_steps"),
    ("save_steps", "--save_checkpoints_steps"),
    ("save_total_limit", "--keep_checkpoints"),
    ("logging_steps", "--log_every_steps"),
    ("max_grad_norm", "--clip_norm"),
    ("mlm_probability", "--masked_lm_prob", "with --dynamic_masking"),
    ("fp16", "--mixed_precision=float16"),
    ("bf16", "--mixed_precision=bfloat16"),
    ("resume_from_checkpoint", "", "a run in the same --output_dir continues"),
    ("torch_compile", "--jit_compile"),
)
TOKENIZE = _flags_of(
    MEGATRON,
    ("input", "--input_file"),
    ("json-keys", "--text_field", "which names one field; run once for each"),
    ("split-sentences", "--level=sentence"),
    ("lang", "--language", "with a code such as en instead of a name"),
    ("keep-newlines", "", "a document keeps its line ends, a sentence has none"),
    ("append-eod", "--append_eod"),
    (
        "output-prefix",
        "--output_prefix",
        "the store is PREFIX.bin and PREFIX.idx, without _text_document",
    ),
    ("workers", "--num_workers"),
    ("keep-sequential-samples", "", "partitions always have the order of the text"),
    ("dataset-impl", "", "stores are always of the kind mmap"),
    ("log-interval", "", "progress is shown all the time"),
    (
        "tokenizer-type",
        "--vocab_file or --tokenizer_file",
        "a WordPiece vocabulary or a tokenizer.json; for Bert...Case also --nodo_lower_case",
    ),
    ("tokenizer-model", "--tokenizer_file", "with a tokenizer.json"),
    ("vocab-file", "--vocab_file", "or, for GPT-2's vocab.json, --tokenizer_file"),
    ("merge-file", "--tokenizer_file", "with a tokenizer.json, which holds the merges"),
)
FOREIGN: Mapping[str, tuple[ForeignFlag, ...]] = {
    "create": CREATE,
    "train": TRAIN,
    "tokenize": TOKENIZE,
}
"""By the command that does here what the program does."""


def explain(name: str, known: Set[str]) -> str | None:
    """Return a sentence about a flag that a command does not have, or None."""
    plain = name.replace("-", "_")
    if plain in known:
        return f"--{name} is written --{plain} here"
    bare = plain.removeprefix("no") if plain.startswith("no") else plain
    for command, table in FOREIGN.items():
        for flag in table:
            if flag.name.replace("-", "_") in (plain, bare):
                ours = re.findall(r"--(\w+)", flag.ours)
                if name in ours:  # of another command of ours, not of another program
                    return None
                where = "here" if set(ours) <= known else f"of bert-data {command}"
                return _sentence(flag, where)
    return None


def _sentence(flag: ForeignFlag, where: str) -> str:
    if not flag.ours:
        return f"--{flag.name} of {flag.program} has no counterpart here: {flag.remark}"
    remark = f", {flag.remark}" if flag.remark else ""
    return f"--{flag.name} of {flag.program} is {flag.ours} {where}{remark}"
