"""Records of recipes: those of the batches, in their order, in any kind of files."""

import json
from pathlib import Path

import numpy as np
import pytest

from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.set_check import check_set
from bert_data.objectives.masking import Shown
from bert_data.reader import ReaderConfig
from bert_data.reader import iterate_arrays as iterate_records
from bert_data.recipes.recipe import BATCHINGS, VERSION, Recipe, Stage
from bert_data.recipes.recipe_records import RecipeRecordsConfig, create_recipe_records
from bert_data.recipes.recipe_run import Place, Run, save_place
from bert_data.recipes.run_batches import iterate_arrays
from bert_data.recipes.stage_masking import Ramp, StageMasking
from tests.program_folder import contents
from tests.recipes.stores import recipe_of
from tests.recipes.test_run_batches import all_rows, rows_of, stage
from tests.rows import mostly_slow

COVERS = ("recipes/record_columns",)


def write(recipe: Recipe, folder: Path, **settings):
    config = {"recipe": recipe, "output_file": f"{folder}/x@3", "num_workers": 1, **settings}
    return create_recipe_records(RecipeRecordsConfig(**config))


def read(paths, **settings):
    config = {"batch_size": 4, "batching": "plain", "width": "max", **settings}
    return iterate_records(ReaderConfig(input_patterns=list(paths), **config))


def read_rows(paths, **settings) -> list[tuple]:
    return [row for batch in read(paths, **settings) for row in rows_of(batch)]


@mostly_slow("objective", ["nsp", "sop", "none", "electra", "tokens"])
@mostly_slow("batching", BATCHINGS)
def test_they_are_the_sequences_of_the_batches_in_their_order(tmp_path, batching, objective):
    masking = StageMasking(
        rate=Ramp(start=0.4, end=0.1), whole_words=True, shown=Shown(0.5, 0.2, 0.3)
    )
    own = stage(batching=batching, objective=objective, masking=masking, batch_size=5)
    recipe = recipe_of(tmp_path, own, skip=((1, 2), (9, 9)))
    (dataset,) = write(recipe, tmp_path)
    rows = all_rows(recipe)
    assert read_rows(dataset.paths) == rows
    counted = [file.num_records for file in dataset.manifest.files]
    assert max(counted) - min(counted) <= 1
    assert sum(counted) == dataset.instances.num_instances == len(rows)
    assert dataset.instances.num_tokens == sum(len(row[0]) for row in rows)
    vocabulary = str(tmp_path / "vocab.txt")
    report = check_set(CheckConfig(input_patterns=list(dataset.paths), vocab_file=vocabulary))
    assert not any(report.faults.values())  # splits into words agree with the vocabulary
    assert {each.name for each in report.findings} <= {"repeated_text", "next_sentence_share"}


def test_plain_batches_are_the_same_arrays(tmp_path):
    recipe = recipe_of(tmp_path, stage(batching="plain", objective="nsp"))
    (dataset,) = write(recipe, tmp_path)
    batches = list(iterate_arrays(recipe))
    for batch, expected in zip(read(dataset.paths), batches, strict=True):
        rows = len(batch["input_ids"])  # of the last batch, without its empty rows
        assert not expected["input_mask"][rows:].any()
        for name, values in expected.items():
            np.testing.assert_array_equal(batch[name], values[:rows])


@pytest.mark.parametrize(
    "kind",
    [
        {"record_layout": "reference"},
        {"output_format": "parquet"},
        {"output_format": "parquet", "record_layout": "reference"},
        {"compression": "gzip"},
    ],
)
def test_files_of_every_kind(tmp_path, kind):
    recipe = recipe_of(tmp_path, stage(batching="packed", objective="none"))
    (dataset,) = write(recipe, tmp_path, **kind)
    batching = "stream" if "compression" in kind else "plain"
    assert read_rows(dataset.paths, batching=batching) == all_rows(recipe)


def two_stages(folder: Path, **settings) -> Recipe:
    first = stage(batching="packed", objective="none", masking=StageMasking(rate=0.3))
    return recipe_of(folder, first, Stage(steps=20, objective="tokens"), **settings)


def test_a_set_for_each_stage(tmp_path):
    recipe = two_stages(tmp_path)
    output = f"{tmp_path}/out/{{stage}}.parquet@2"
    both = write(recipe, tmp_path, output_file=output, output_format="parquet")
    assert [Path(dataset.paths[0]).name for dataset in both] == [
        "1.parquet-00000-of-00002", "2.parquet-00000-of-00002"
    ]  # fmt: skip
    rows = [row for dataset in both for row in read_rows(dataset.paths)]
    assert rows == all_rows(recipe)
    (second,) = write(recipe, tmp_path, stage=2)
    assert read_rows(second.paths) == read_rows(both[1].paths)
    assert second.manifest.counts == both[1].manifest.counts


def test_the_manifest_names_stage_digest_and_version(tmp_path):
    recipe = two_stages(tmp_path)
    (dataset,) = write(recipe, tmp_path, stage=1)
    manifest = json.loads((tmp_path / "manifest.x.json").read_text())
    run = Run(recipe)
    end = Place(9, 0, 9)  # of the first stage's only window
    assert (run.stages[0].num_windows, run.num_windows) == (1, 2)
    told = manifest["flags"]["recipe"]
    assert (told["version"], told["stage"]) == (VERSION, 1)
    assert told["digest"] == save_place(run, end)["digest"]
    assert told["stores"] == dict(recipe.stores)
    assert (told["batching"], told["epochs"]) == ("packed", {"a": 2})
    assert manifest["random_seed"] == recipe.seed
    assert manifest["flags"]["masked_lm_prob"] == 0.3
    assert manifest["flags"]["dupe_factor"] == 2
    assert manifest["vocabulary"]["sha256"] == run.vocabulary.sha256
    assert manifest["counts"]["text"]["num_documents"] == 85
    assert manifest["counts"]["instances"]["num_instances"] == dataset.instances.num_instances


def test_the_first_records_are_told(tmp_path):
    recipe = recipe_of(tmp_path, stage(batching="pools", objective="sop"))
    (dataset,) = write(recipe, tmp_path, num_examples=11)
    told = [
        (e.ids, e.segment_ids, e.masked_positions, e.masked_ids, int(e.label))
        for e in dataset.examples
    ]
    assert told == all_rows(recipe)[:11]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "x@3'; the recipe has 2 stages, so it must contain {stage}, or `stage` must choose"),
        ({"stage": 3}, "stage is 3; the recipe has stages 1 to 2"),
        ({"stage": 1, "output_file": "vocab.txt"}, "'vocab.txt' is an input too"),
        ({"stage": 1, "output_file": "a.bin"}, "'a.bin' is an input too"),
        ({"stage": 1, "output_file": "r", "reads": ["r"]}, "'r' is an input too"),
        ({"output_file": "x{stage}"}, "stage 2 has no records: skip leaves out all"),
    ],
)
def test_refused_in_a_sentence_with_nothing_written(tmp_path, monkeypatch, settings, sentence):
    recipe = two_stages(tmp_path, skip=((10, 99),))
    (tmp_path / "r").write_text("")
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(ValueError) as caught:
        write(recipe, tmp_path, overwrite=True, **settings)
    assert sentence in str(caught.value)
    assert contents(tmp_path) == before


def test_objectives_without_records_are_refused(tmp_path):
    spans = Stage(steps=2, batch_size=2, max_seq_length=16, objective="t5_spans", batching="plain",
                  masking=StageMasking(num_sentinels=9))  # fmt: skip
    with pytest.raises(ValueError, match="stage 1 of the recipe has objective t5_spans, whose"):
        write(recipe_of(tmp_path, spans), tmp_path)
