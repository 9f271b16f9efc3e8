"""Records by a recipe at the command line; those of text are in `tests/test_googles_records.py`."""

import pytest

from bert_data.datasets.manifest import read_manifest
from tests.recipes.stores import write_recipe

pytestmark = pytest.mark.process

STAGES = """
  - {steps: 6, max_seq_length: 24, batch_size: 4, objective: nsp, batching: plain}
  - {steps: 3, max_seq_length: 48, objective: none, batching: packed}
"""
BESIDE = (
    "beside it, --output_file, --stage, --output_format, --record_layout, --compression,"
    " --num_workers, --work_dir, --num_examples, --overwrite are allowed"
)


def test_a_set_for_each_stage_is_made_and_checked(commands, tmp_path):
    write_recipe(tmp_path, STAGES)
    flags = ["--recipe=r.yaml", "--output_file=out/{stage}@2", "--num_examples=1"]
    log = commands.well("create", *flags).stderr
    assert "next sentence: " in log and "24 of " in log
    numbers = [read_manifest(f"{tmp_path}/out/manifest.{n}.json") for n in (1, 2)]
    assert [each.flags["recipe"]["stage"] for each in numbers] == [1, 2]
    for number in (1, 2):
        checked = commands.well("check", f"--input_file=out/{number}@2", "--vocab_file=vocab.txt")
        assert "none: the set is undamaged, and as it should be" in checked.stdout
    shown = commands.well("inspect", "--input_file=out/2@2", "--vocab_file=vocab.txt").stdout
    assert "[CLS]" in shown
    exists = "out/1-00000-of-00002: exists already (--overwrite replaces it)"
    assert commands.error("create", *flags) == exists
    commands.well("create", *flags, "--overwrite")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--recipe=r.yaml", "--output_file=x", "--random_seed=1", "--max_seq_length=9"],
         "--recipe is set, which says what is made: leave out --max_seq_length and --random_seed;"
         f" {BESIDE}"),
        (["--recipe=r.yaml", "--output_file=x@2"],
         "--output_file is 'x@2'; the recipe has 2 stages, so it must contain {stage}, or --stage"
         " must choose one of them"),
        (["--recipe=r.yaml", "--output_file=r.yaml", "--stage=2", "--overwrite"],
         "output 'r.yaml' is an input too"),
        (["--input_file=r.yaml", "--vocab_file=vocab.txt", "--output_file=x", "--stage=2"],
         "--stage needs --recipe"),
    ],
)  # fmt: skip
def test_refused_in_one_sentence(commands, tmp_path, flags, sentence):
    write_recipe(tmp_path, STAGES, num_documents=40)
    assert commands.error("create", *flags) == sentence


def test_one_of_text_and_recipe_is_needed(commands):
    assert commands.error("create", "--output_file=x", status=2) == (
        "missing: --input_file (see --help)"
    )
