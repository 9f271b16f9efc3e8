"""Documents receive the vectors of an encoder."""

import json

import numpy as np
import pyarrow.parquet
import pytest

from bert_data.curation.models.model_step import open_embedder
from bert_data.curation.models.text_model import ModelConfig
from bert_data.curation.running.pipeline import DataSet, Output, Pipeline, label_steps
from bert_data.curation.running.run import curate
from bert_data.curation.step import make_step
from bert_data.curation.steps.model_score import Embed
from tests.curation.corpora import make_documents, run_corpus_step
from tests.curation.models.tiny_models import (
    TEXTS,
    make_classifier,
    write_keras,
    write_vocabulary,
)


@pytest.fixture(scope="module")
def parameters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return {"model": write_keras(make_classifier(), folder), "vocab_file": write_vocabulary(folder)}


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vectors_are_those_of_the_encoder(parameters, tmp_path, pooling):
    embedder = open_embedder(ModelConfig(**parameters), pooling)
    expected = embedder.embed(TEXTS)
    documents = make_documents(TEXTS)
    step = Embed(**parameters, pooling=pooling, embedding_field="v")
    judged = run_corpus_step(step, [documents[4:], [], documents[:4]], tmp_path)
    vectors = {v.document.id: v.document.fields["v"] for shard in judged for v in shard if v.kept}
    assert len(vectors) == len(TEXTS)
    for document, vector in zip(documents, expected, strict=True):
        found = vectors[document.id]
        np.testing.assert_allclose(found, vector, atol=1e-5)
        assert found == [round(number, 5) for number in found]


def test_vectors_are_columns_of_lists(parameters, tmp_path):
    rows = [{"text": text} for text in TEXTS[:6] if text]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = {}
    for name in ("o.parquet", "o.jsonl"):
        pipeline = Pipeline(
            data_sets=(DataSet(name="a", files=f"{tmp_path}/a.jsonl"),),
            steps=label_steps([make_step("embed", parameters)]),
            output=Output(files=f"{tmp_path}/{name}"),
        )
        curate(pipeline, num_workers=1)
    table = pyarrow.parquet.read_table(tmp_path / "o.parquet")
    assert table.schema.field("embedding").type == pyarrow.list_(pyarrow.float64())
    found = [row["embedding"] for row in table.to_pylist()]
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert [json.loads(line)["embedding"] for line in lines] == found
    assert all(np.linalg.norm(vector) == pytest.approx(1, abs=1e-4) for vector in found)


def test_mistakes_are_told(parameters, tmp_path):
    with pytest.raises(ValueError, match="embedding_field is ''; it must not be empty"):
        make_step("embed", {"model": "m", "embedding_field": ""})
    with pytest.raises(ValueError, match="pooling is 'sum'; it must be one of mean, cls, pooler"):
        make_step("embed", {"model": "m", "pooling": "sum"})
    with pytest.raises(ValueError, match="comes without a vocabulary"):
        Embed(model=parameters["model"]).prepare(tmp_path)
