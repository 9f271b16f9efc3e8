"""Semantic duplicates in pipelines: embeddings of a column and of a model, other thresholds."""

import json
import random
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import make_step
from tests.curation.corpora import pipeline_of, write_rows, write_texts
from tests.curation.duplicates.test_units_in_rounds import WRAPPED
from tests.curation.steps.test_semantic_duplicates import variations
from tests.curation.tiny_models import make_classifier, write_keras, write_vocabulary


def find_copies(output: str, **parameters):
    step = make_step("semantic_duplicates", parameters)
    return run_pipeline(pipeline_of(Path(), [step], output=output, ledger="all"), num_workers=1)


@pytest.mark.process
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_column_of_embeddings_passes_through_a_pipeline(tmp_path, monkeypatch, ending):
    """A report of another threshold equals a run with it."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    rows = [
        {"text": "word " * draw.randrange(1, 9), "embedding": each} for each in variations(2, 100)
    ]
    if ending == "jsonl":
        write_rows(Path("a.jsonl"), rows)
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), "a.parquet")
    strict = find_copies("strict.jsonl", max_similarity=0.8)
    mild = find_copies("mild.jsonl", max_similarity=0.99, remove_embedding=True)
    kept = [each.counts[-1].num_documents for each in (strict, mild)]
    assert kept[0] < kept[1] < 100
    for name in ("strict", "mild"):  # all values are there, whatever the threshold
        ledger = pyarrow.parquet.read_table(f"ledger.{name}.jsonl.parquet").to_pylist()
        values = [row["value"] for row in ledger if row["rule"] == "max_similarity"]
        assert [sum(value <= most for value in values) for most in (0.8, 0.99)] == kept
    written = [json.loads(line) for line in Path("mild.jsonl").read_text().splitlines()]
    assert all("embedding" not in row and row["semantic_cluster"] >= 0 for row in written)
    written = [json.loads(line) for line in Path("strict.jsonl").read_text().splitlines()]
    assert all(row["embedding"] in [each["embedding"] for each in rows] for row in written)
    assert all(row["semantic_similarity"] <= 0.8 for row in written)


@pytest.mark.slow
def test_sentences_that_say_the_same_are_cut_by_the_vectors_of_a_model(tmp_path, monkeypatch):
    """To this model, all long sentences are the same: unknown words, as many as it reads."""
    monkeypatch.chdir(tmp_path)
    same = "His daughter asked the ferryman, who had been asleep since morning."
    write_texts(tmp_path, [f"{same} The baker did not.", WRAPPED])
    model = {"model": write_keras(make_classifier(), tmp_path)}
    model["vocab_file"] = write_vocabulary(tmp_path)
    embed = make_step("embed", {**model, "unit": "sentence"})
    same_unit = {"unit": "sentence", "num_clusters": 1, "max_similarity": 0.99999}
    cut = make_step("semantic_duplicates", same_unit)
    for ending in ("jsonl", "parquet"):
        run_pipeline(pipeline_of(tmp_path, [embed, cut], output=f"o.{ending}"), num_workers=1)
    rows = [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]
    assert pyarrow.parquet.read_table("o.parquet").to_pylist() == rows
    assert sum(len(row["text"].split(". ")) for row in rows) == 2  # a short one, and a long one
    assert sum("The baker did not." in row["text"] for row in rows) == 1
    assert not any("embedding" in row for row in rows)
    run_pipeline(pipeline_of(tmp_path, [embed], output="v.jsonl"), num_workers=1)
    rows = [json.loads(line) for line in Path("v.jsonl").read_text().splitlines()]
    assert [len(row["embedding"]) for row in rows] == [2, 3]
    assert rows[0]["embedding"][0] == pytest.approx(rows[1]["embedding"][1], abs=1e-4)
