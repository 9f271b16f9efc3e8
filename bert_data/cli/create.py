r"""Make BERT pretraining data from text: masked tokens and sentence pairs, in TFRecord or Parquet.

The text has one sentence per line and a blank line between documents, or another format: wikitext,
JSON Lines, Parquet, or tokens (--input_format). The flags of Google's create_pretraining_data.py
keep their names and defaults, and give the same records in the same order.

    bert-data create --input_file=corpus.txt --vocab_file=vocab.txt \
        --output_file=train.tfrecord

    # many files in, eight shards out, Google's padded records
    bert-data create --input_file='text/*.txt.gz' --vocab_file=vocab.txt \
        --output_file=data/train@8 --record_layout=reference

    # the same instances as rows of Parquet, for pandas, datasets and training
    bert-data create --input_file=corpus.txt --vocab_file=vocab.txt \
        --output_file=train.parquet --output_format=parquet
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":  # before NumPy is loaded; nothing here needs its matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, define, from_flags, given, settings
from bert_data.cli.shared_flags import ENGINE, TOKENIZER, engine_of_flags, text_section
from bert_data.records.choices import REFERENCE
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.text.text_config import TextConfig

if TYPE_CHECKING:
    from bert_data.records.sets.config import Dataset
    from bert_data.records.sets.plain import ProgramFunctions, ProgramSet

_COMMON = (  # for --help
    "input_file vocab_file tokenizer_file output_file do_lower_case do_whole_word_mask"
    " max_seq_length max_predictions_per_seq masked_lm_prob dupe_factor random_seed record_layout"
    " output_format num_workers overwrite"
)
_OF_GOOGLE = "input_file output_file vocab_file do_lower_case"
_NOT_GOOGLES = "next_sentence masking max_ngram favor_shorter_ngrams"
_ELSEWHERE = "tokenizer_file special_tokens_in_text tokenizer_backend words"
_OF_SCRIPTS: dict[str, dict[str, Any]] = {
    "input_file": {"default": None},
    "output_file": {"default": None},
    "do_lower_case": {"default": True},  # scripts hand it to a tokenizer
}
GOOGLES = Section(
    "",
    (
        *settings(InstanceConfig, without=_NOT_GOOGLES),
        *settings(DatasetConfig, _OF_GOOGLE, changes=_OF_SCRIPTS),
    ),
)
"""The flags of Google's program: a script that imports it has these, and need not set them."""

SECTIONS = (
    GOOGLES,
    Section(
        "",
        (
            *settings(InstanceConfig, _NOT_GOOGLES),
            *settings(DatasetConfig, without=f"{_OF_GOOGLE} {_ELSEWHERE} id_field"),
            *settings(
                DatasetConfig,
                "special_tokens id_field",
                changes={
                    "id_field": {"only_with": "without_documents"},
                    "special_tokens": {
                        "kind": list[str],
                        "default": [],
                        "more_help": " Write cls=TOKEN,sep=TOKEN,mask=TOKEN and so on.",
                    },
                },
            ),
        ),
    ),
    text_section(more_formats=("store",)),
    ENGINE,
    TOKENIZER,
)
define([GOOGLES])


def main(_: Sequence[str]) -> None:
    """Turns the flags into a configuration and runs the stages."""
    from bert_data.records.sets.creating import create_dataset
    from bert_data.records.sets.summary import summarize_records

    dataset = create_dataset(_config())
    logging.info("%s", summarize_records(dataset))
    _log_examples(dataset)


def create_by(functions: "ProgramFunctions") -> None:
    """Run the command by functions of a program."""
    from bert_data.records.sets.plain import create_by_program
    from bert_data.records.sets.summary import describe_files

    config = _config()
    if functions.write_instance_to_example_files and given("record_layout") is None:
        config = dataclasses.replace(config, record_layout=REFERENCE)
    made = create_by_program(config, functions)
    logging.info("%s", "\n".join(describe_files(made.paths, made.manifest.files)))
    _log_examples(made)


def _log_examples(made: "Dataset | ProgramSet") -> None:
    from bert_data.records.sets.summary import describe_examples

    if made.examples:
        logging.info("%s", describe_examples(made))


def _config() -> DatasetConfig:
    from bert_data.tokens.tokenizer_json import parse_special_tokens

    define(SECTIONS)  # a script may have defined Google's alone
    return from_flags(
        DatasetConfig,
        do_lower_case=given("do_lower_case"),
        instances=from_flags(InstanceConfig),
        text=from_flags(TextConfig),
        engine=engine_of_flags(),
        special_tokens=parse_special_tokens(flags.FLAGS.special_tokens),
    )


def run_create(command: Callable[[Sequence[str]], None] = main) -> None:
    """Run the command; never returns."""
    for name in ("input_file", "output_file"):
        flags.mark_flag_as_required(name)
    entry.run(command, groups={"common": _COMMON})


if __name__ == "__main__":
    run_create()
