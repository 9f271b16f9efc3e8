"""All that decides what a run makes is in the name of its work folder, and nothing else is."""

import dataclasses

import pytest

from bert_data.curation.running.data_sets import plan_all_shards
from bert_data.curation.running.pipeline import DataSet, Pipeline, label_steps
from bert_data.curation.running.pipeline_file import parse_step_flags, parse_steps
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.run import describe_work
from bert_data.work import fingerprint
from tests.curation.fake_steps import Few, Without
from tests.curation.running.test_run import web  # noqa: F401 (a fixture)

COVERS = ("curation/running/pipeline_settings",)


def test_all_that_decides_what_is_made_is_in_the_fingerprint(tmp_path, web):  # noqa: F811
    (tmp_path / "letters.txt").write_text("y")
    pipeline = Pipeline(
        data_sets=(DataSet(name="web", files=str(web)),),
        steps=label_steps([Few(), Without(letter=str(tmp_path / "letters.txt"))]),
        output=Output(files="o"),
        shard_mb=0.001,
    )

    def print_of(changed: Pipeline = pipeline, name: str = "o") -> str:
        shards = plan_all_shards(changed.data_sets, changed.shard_bytes)
        return fingerprint(describe_work(changed, shards, name))

    first = print_of()
    assert print_of() == first
    (data_set,) = pipeline.data_sets
    changes = [
        {"steps": label_steps([Few(max_xs=4), Without(letter=str(tmp_path / "letters.txt"))])},
        {"steps": pipeline.steps[::-1]},
        {"ledger": "all"},
        {"max_document_bytes": 9},
        {"shard_mb": 0.002},
        {"count_words": False},
        {"on_error": "strict"},
        {"output": Output(files="o", split_sentences=True)},
        {"data_sets": (dataclasses.replace(data_set, name="wiki"),)},
        {"data_sets": (dataclasses.replace(data_set, id_field="n"),)},
    ]
    prints = [print_of(dataclasses.replace(pipeline, **change)) for change in changes]
    prints += [first, print_of(name="p")]
    (tmp_path / "letters.txt").write_text("yz")
    prints.append(print_of())
    web.write_bytes(web.read_bytes())
    prints.append(print_of())
    assert len(set(prints)) == len(prints)
    same = dataclasses.replace(pipeline, output=Output(files="o@9", output_format="jsonl"))
    assert print_of(same) == prints[-1]  # they only decide how the end is written


@pytest.mark.parametrize(
    ("files", "settings", "said"),
    [
        ("a.parquet", {"output_format": "jsonl"}, "parquet"),
        ("a.jsonl.gz@2", {"output_format": "lines"}, "jsonl"),
        ("a.txt", {"output_format": "parquet"}, "text"),
        ("a.jsonl,b.jsonl.bz2", {}, "bzip2"),
        ("a.parquet.gz", {}, "gzip"),
        ("a.csv", {}, "csv"),
        ("a.jsonl", {"rejected_file": "r.parquet@2"}, "parquet"),
    ],
)
def test_an_ending_of_something_else_is_refused(files, settings, said):
    with pytest.raises(ValueError, match=f"would not be {said}, as its ending says"):
        Output(files=files, **settings)
    for name in ("a.txt", "a.zst", "a.ndjson.gz@2", "a.v2", "a.parquet"):
        Output(files=name, rejected_file="r.txt.gz")


def pipeline_of(*flags: str) -> Pipeline:
    return Pipeline(
        data_sets=(DataSet(name="web", files="a"), DataSet(name="wiki", files="b")),
        steps=label_steps(parse_steps(parse_step_flags(flags))),
        output=Output(files="o"),
    )


@pytest.mark.parametrize("name", ["text", "id", "source", "input_id"])
@pytest.mark.parametrize(
    ("step", "field"),
    [
        ("classifier:model_file=m,label=a", "score_field"),
        ("classifier:model_file=m,label=a,head_score=1,middle_score=0", "bucket_field"),
        ("model_score:model=m", "score_field"),
        ("model_score:model=m", "bucket_field"),
        ("embed:model=m", "embedding_field"),
    ],
)
def test_no_step_writes_over_what_every_document_has(step: str, field: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is '{name}', which outputs have for"):
        pipeline_of(f"{step},{field}={name}")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            ("classifier:model_file=m,label=a", "classifier:model_file=m,label=b"),
            "steps classifier and classifier#2 both write the field 'classifier_score'; give one of"
            " them another",
        ),
        (
            ("language", "classifier:model_file=m,label=a,score_field=language_score"),
            "steps language and classifier both write the field 'language_score'",
        ),
        (("embed:model=m", "embed:model=n"), "steps embed and embed#2 both write the field"),
        (
            (
                "classifier:model_file=m,label=a,head_score=1,middle_score=0",
                "classifier:model_file=m,label=b,score_field=b,head_score=1,middle_score=0",
            ),
            "both write the field 'classifier_bucket'",
        ),
        (
            ("perplexity:reference=r", "model_score:model=m,bucket_field=perplexity_bucket"),
            "steps perplexity and model_score both write the field 'perplexity_bucket'",
        ),
        (
            ("semantic_duplicates", "embed:model=m,embedding_field=semantic_distance"),
            "steps semantic_duplicates and embed both write",
        ),
        (("extract", "embed:model=m,embedding_field=content_type"), "steps extract and embed both"),
    ],
)
def test_two_steps_that_write_the_same_field(flags: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        pipeline_of(*flags)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "flags",
    [
        ("classifier:model_file=m,label=a", "classifier:model_file=m,label=b,score_field=b"),
        ("embed:model=m,data_sets=[web]", "embed:model=n,data_sets=[wiki]"),
        ("language", "repair", "language"),
        ("embed:model=m", "semantic_duplicates"),
    ],
)
def test_steps_that_write_fields_of_their_own(flags: tuple[str, ...]) -> None:
    pipeline_of(*flags)
