"""Documents by the scores of a trained model: a classifier from training to a run of curation."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import tensorflow as tf

from bert_data.curation.running.run import describe_work, run_pipeline
from bert_data.curation.step import make_step
from bert_data.curation.steps.model_score import Embed, Embedder, ModelScore
from bert_data.labelled.batches import LabelledReaderConfig, LabelledSource, read_labelled_batches
from bert_data.labelled.classifier import text_classifier
from bert_data.reader.planning import PlanConfig
from bert_data.training import AdamWeightDecay
from tests.curation.corpora import (
    make_documents,
    pipeline_of,
    run_corpus_step,
    value_of,
    write_texts,
)
from tests.curation.tiny_models import (
    TEXTS,
    make_classifier,
    probabilities_of,
    windows_of,
    write_keras,
    write_vocabulary,
)
from tests.labelled.making import texts as labelled_texts
from tests.labelled.making import write_labelled
from tests.rows import mostly_slow
from tests.training.tiny import tiny_config


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="module")
def model():
    return make_classifier()


@pytest.fixture(scope="module")
def parameters(model, folder):
    """Of a step that scores label 1."""
    path = write_keras(model, folder)
    return {"model": path, "vocab_file": write_vocabulary(folder), "label": "1"}


def expected_scores(model):
    return [round(float(probabilities_of(model, windows_of(text)[0])[1]), 4) for text in TEXTS]


def test_documents_are_kept_by_score_and_percentile_whatever_the_shards(
    model, parameters, tmp_path, monkeypatch
):
    monkeypatch.setattr("bert_data.curation.steps.model_score.MAX_PLANNED_TEXTS", 3)
    scores = expected_scores(model)
    low, high = sorted(scores)[1], sorted(scores)[-2]
    step = ModelScore(
        **parameters, min_score=low, max_score=high, max_percentile=80, head_percentile=40
    )
    documents = make_documents(TEXTS)
    for shards in ([documents], [documents[4:], [], documents[:4]]):
        judged = run_corpus_step(step, shards, tmp_path)
        verdicts = {v.document.id: v for shard in judged for v in shard}
        for document, score in zip(documents, scores, strict=True):
            verdict = verdicts[document.id]
            percentile = 100 * sum(other > score for other in scores) / len(scores)
            bucket = "head" if percentile < 40 else "middle" if percentile < 60 else "tail"
            fields = {"model_score": pytest.approx(score, abs=1e-4), "model_score_bucket": bucket}
            assert verdict.document.fields == fields
            assert value_of(verdict, "max_percentile") == pytest.approx(percentile)
            assert verdict.kept == (low <= score <= high and percentile <= 80)
            assert verdict.counted == {bucket: 1}
        assert {verdict.kept for verdict in verdicts.values()} == {True, False}


def test_the_files_of_the_model_belong_to_the_run(parameters, tmp_path):
    write_texts(tmp_path, TEXTS)
    step = make_step("model_score", parameters)
    described = describe_work(pipeline_of(tmp_path, [step]), [], "o")
    assert {path for path, *_ in described["lists"]} == {
        parameters["model"],
        parameters["vocab_file"],
    }


@pytest.mark.slow
def test_a_wrong_model_ends_the_run_before_it_reads(parameters, tmp_path):
    write_texts(tmp_path, TEXTS)
    step = make_step("model_score", {**parameters, "label": "good"})
    with pytest.raises(ValueError, match=r"^step model_score: label is 'good'; the labels of"):
        run_pipeline(pipeline_of(tmp_path, [step]), num_workers=1)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.fixture(scope="module")
def trained(folder, small_vocabulary):
    """The file of a classifier trained on labelled records, and its probabilities by text."""
    pattern = write_labelled(folder, small_vocabulary)
    plan = PlanConfig(batching="pools", batch_size=8, max_seq_length=16)
    source = LabelledSource(LabelledReaderConfig(input_patterns=pattern, plan=plan))
    config = tiny_config(vocab_size=source.form.vocab_size, max_position_embeddings=16)
    trained = text_classifier(
        config, num_labels=source.num_labels, random_seed=3, labels=source.form.classes
    )
    trained.compile(AdamWeightDecay(3e-3), run_eagerly=True)
    trained.fit(read_labelled_batches(source), verbose=0)
    path = str(folder / "trained.keras")
    trained.save(path)
    plain = PlanConfig(batching="plain", batch_size=4, max_seq_length=16)
    packed, ragged = (
        read_labelled_batches(LabelledReaderConfig(input_patterns=pattern, plan=plain, form=form))
        for form in ("fit", "ragged")
    )
    logits = trained.predict(packed.map(lambda inputs, *_: inputs), verbose=0)
    texts = [text.decode() for batch in ragged for text in batch["text"].numpy()]
    return path, dict(zip(texts, tf.nn.softmax(logits).numpy(), strict=True))


@pytest.mark.slow
def test_scores_of_a_run_are_those_of_the_trained_model(trained, small_vocabulary, tmp_path):
    path, probabilities = trained
    texts = labelled_texts()
    write_texts(tmp_path, [text or "." for text in texts])
    parameters = {"model": path, "vocab_file": str(small_vocabulary), "label": "class 2"}
    threshold = float(np.median([row[2] for row in probabilities.values()]))
    step = make_step("model_score", {**parameters, "min_score": threshold})
    run_pipeline(
        pipeline_of(tmp_path, [step], output="o.parquet", shard_mb=0.001, ledger="all"),
        num_workers=1,
    )
    rows = pyarrow.parquet.read_table(tmp_path / "o.parquet").to_pylist()
    assert 5 < len(rows) < len(texts)
    for row in rows:
        if row["text"] != ".":
            assert row["model_score"] == pytest.approx(probabilities[row["text"]][2], abs=1.1e-4)
        assert row["model_score"] >= threshold
    ledger = f"{tmp_path}/ledger.o.parquet.parquet"
    measured = pyarrow.parquet.read_table(ledger).to_pylist()
    values = [row["value"] for row in measured if row["rule"] == "min_score"]
    assert len(values) == len(texts) and sum(value >= threshold for value in values) == len(rows)


@pytest.mark.slow
@pytest.mark.process
def test_workers_change_nothing_and_a_stopped_run_resumes(trained, small_vocabulary, tmp_path):
    path, _ = trained
    write_texts(tmp_path, [text or "." for text in labelled_texts()] * 3)
    parameters = {"model": path, "vocab_file": str(small_vocabulary), "label": "2"}
    step = make_step("model_score", {**parameters, "max_percentile": 50})
    written = []
    for name, num_workers in (("one.jsonl", 1), ("two.jsonl", 2)):
        pipeline = pipeline_of(tmp_path, [step], output=name, shard_mb=0.002)
        run_pipeline(pipeline, num_workers=num_workers)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]

    def stop(_):
        raise KeyboardInterrupt

    pipeline = pipeline_of(tmp_path, [step], output="three.jsonl", shard_mb=0.002)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline(pipeline, num_workers=1, more_outputs={f"{tmp_path}/report": stop})
    done = run_pipeline(pipeline, num_workers=1)
    assert done.num_resumed
    assert (tmp_path / "three.jsonl").read_bytes() == written[0]
    assert not list(Path(tmp_path).glob(".*"))


@pytest.fixture(scope="module")
def encoder(parameters):
    return {name: parameters[name] for name in ("model", "vocab_file")}


@mostly_slow("pooling", ["mean", "cls"])
def test_vectors_are_those_of_the_encoder(encoder, tmp_path, pooling):
    documents = make_documents(TEXTS)
    step = Embed(**encoder, pooling=pooling, embedding_field="v")
    expected = Embedder(step).embed(TEXTS)
    judged = run_corpus_step(step, [documents[4:], [], documents[:4]], tmp_path)
    vectors = {v.document.id: v.document.fields["v"] for shard in judged for v in shard if v.kept}
    assert len(vectors) == len(TEXTS)
    for document, vector in zip(documents, expected, strict=True):
        found = vectors[document.id]
        np.testing.assert_allclose(found, vector, atol=1e-5)
        assert found == [round(number, 5) for number in found]


@pytest.mark.slow
def test_vectors_are_columns_of_lists(encoder, tmp_path):
    write_texts(tmp_path, list(filter(None, TEXTS[:6])))
    for name in ("o.parquet", "o.jsonl"):
        run_pipeline(
            pipeline_of(tmp_path, [make_step("embed", encoder)], output=name), num_workers=1
        )
    table = pyarrow.parquet.read_table(tmp_path / "o.parquet")
    assert table.schema.field("embedding").type == pyarrow.list_(pyarrow.float64())
    found = [row["embedding"] for row in table.to_pylist()]
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert [json.loads(line)["embedding"] for line in lines] == found
    assert all(np.linalg.norm(vector) == pytest.approx(1, abs=1e-4) for vector in found)


def test_an_encoder_needs_a_vocabulary(encoder, tmp_path):
    with pytest.raises(ValueError, match="comes without a vocabulary"):
        Embed(model=encoder["model"]).prepare(tmp_path)
