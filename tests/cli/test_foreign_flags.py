"""Flags of other programs are answered with ours, and docs/migrating.md lists them all."""

import importlib
import re

import pytest
from absl import flags

from bert_data.cli import entry
from bert_data.cli.foreign_flags import explain, foreign_flags
from bert_data.cli.main import COMMANDS

KNOWN = {"input_file", "compression", "num_workers", "output_prefix"}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gzip_compress", "--gzip_compress of tensorflow/models is --compression=gzip here"),
        ("nogzip_compress", "--gzip_compress of tensorflow/models is --compression=gzip here"),
        ("num-workers", "--num-workers is written --num_workers here"),
        ("workers", "--workers of Megatron-LM is --num_workers here"),
        (
            "use_fp16",
            "--use_fp16 of NVIDIA DeepLearningExamples is --mixed_precision=float16 of bert-data",
        ),
        (
            "use_v2_feature_names",
            "--use_v2_feature_names of tensorflow/models has no counterpart here: records keep",
        ),
        (
            "json-keys",
            "--json-keys of Megatron-LM is --text_field of bert-data tokenize, which names one",
        ),
    ],
)
def test_a_foreign_flag_is_answered_with_ours(name, sentence):
    assert (explain(name, KNOWN) or "").startswith(sentence)


@pytest.mark.parametrize("name", ["max_seq_lenght", "no", "x-y", ""])
def test_other_flags_are_not(name):
    assert explain(name, KNOWN) is None


def test_a_foreign_flag_that_is_typed_ends_with_ours(monkeypatch, capsys):
    values = flags.FlagValues()
    flags.DEFINE_string("output_prefix", None, "A prefix.", flag_values=values)
    monkeypatch.setattr(flags, "FLAGS", values)
    with pytest.raises(SystemExit) as ended:
        entry._parse_flags(["bert-data tokenize", "--output-prefix=a"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "bert-data tokenize: error: unknown flag: --output-prefix is written --output_prefix here"
        " (see --help)\n"
    )


def test_the_document_has_a_table_for_each_program(checkout):
    text = (checkout / "docs" / "migrating.md").read_text(encoding="utf-8")
    tables = {(command, flag.program) for command, each in foreign_flags().items() for flag in each}
    assert set(re.findall(r"^<!-- foreign (\w+) (.+) -->$", text, re.MULTILINE)) == tables


def test_our_flags_exist():
    names = [f"bert_data.cli.{name.replace('-', '_')}" for name in COMMANDS]
    modules = map(importlib.import_module, names)
    sections = [section for module in modules for section in module.SECTIONS]
    defined = {setting.name for section in sections for setting in section.settings}
    foreign = [flag for each in foreign_flags().values() for flag in each]
    named = [n for f in foreign for n in re.findall(r"--(\w+)", f"{f.ours} {f.remark}")]
    assert {name.removeprefix("no") if name == "nodo_lower_case" else name for name in named} <= (
        defined
    )
    assert not {flag.name for flag in foreign} & (defined - {"input"})


def test_a_flag_of_another_command_of_ours_is_not_taken_for_a_foreign_one():
    assert explain("vocab_file", {"vocab_size"}) is None
    assert explain("vocab-file", {"vocab_size"}) == (
        "--vocab-file of Megatron-LM is --vocab_file of bert-data tokenize, or, for GPT-2's"
        " vocab.json, --tokenizer_file"
    )
