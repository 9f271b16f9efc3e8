"""Vectors of texts equal what the encoder itself gives each window."""

import numpy as np
import pytest

from bert_data.curation.models.model_step import EmbeddingConfig, open_embedder
from bert_data.curation.models.text_model import ModelConfig
from tests.curation.models.tiny_models import (
    TEXTS,
    hidden_of,
    make_classifier,
    windows_of,
    write_hub,
    write_hugging_face_folder,
    write_keras,
    write_vocabulary,
)


@pytest.fixture(scope="module")
def model():
    return make_classifier()


@pytest.fixture(scope="module")
def own(model, tmp_path_factory):
    """Options of a file of Keras."""
    folder = tmp_path_factory.mktemp("model")
    return {"model": write_keras(model, folder), "vocab_file": write_vocabulary(folder)}


def open_it(pooling="mean", **options):
    return open_embedder(EmbeddingConfig(model=ModelConfig(**options), pooling=pooling))


def expected_vectors(model, pooling, max_windows=1):
    vectors = []
    for text in TEXTS:
        rows = windows_of(text)[:max_windows]
        parts = []
        for row in rows:
            hidden, pooled = hidden_of(model, row)
            parts.append({"mean": hidden.mean(axis=0), "cls": hidden[0], "pooler": pooled}[pooling])
        vector = np.average(parts, axis=0, weights=[len(row) for row in rows])
        vectors.append(vector / np.linalg.norm(vector))
    return np.array(vectors)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
@pytest.mark.parametrize("max_windows", [1, 3])
def test_poolings(model, own, pooling, max_windows):
    vectors = open_it(pooling, **own, max_windows=max_windows).embed(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected_vectors(model, pooling, max_windows), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.slow
def test_any_kind_of_model_with_its_own_vocabulary(model, tmp_path):
    folder, hub = write_hugging_face_folder(model, tmp_path), write_hub(model, tmp_path)
    for pooling in ("mean", "pooler"):
        expected = expected_vectors(model, pooling)
        for path in (folder, hub, f"{hub}/encoder"):
            vectors = open_it(pooling, model=path).embed(TEXTS)
            np.testing.assert_allclose(vectors, expected, atol=1e-5)
    with pytest.raises(ValueError, match=r"has the outputs .*; pooling 'mean' needs sequence_outp"):
        open_it(model=f"{hub}/preprocess")


def test_many_texts_come_in_order(own, monkeypatch):
    monkeypatch.setattr("bert_data.curation.models.rows._MAX_TEXTS", 3)
    embedder = open_it(**own)
    parts = list(embedder.embed_many(iter(TEXTS)))
    assert [len(part) for part in parts] == [3, 3, 1]
    np.testing.assert_allclose(np.concatenate(parts), embedder.embed(TEXTS), atol=1e-6)
    assert embedder.embed([]).shape == (0, embedder.dim) == (0, 8)


def test_another_pooling_is_refused(own):
    with pytest.raises(ValueError, match=r"pooling is 'sum'; it must be one of mean, cls, pooler"):
        open_it("sum", **own)


def test_vectors_that_are_no_numbers_are_refused(tmp_path):
    model = make_classifier()
    table = model.encoder.embeddings.word_embeddings
    table.assign(table + np.where(np.arange(11)[:, None] == 8, np.nan, 0))
    path, own = write_keras(model, tmp_path), {"vocab_file": write_vocabulary(tmp_path)}
    with pytest.raises(ValueError, match=r"a vector of length nan for a text that begins 'film'"):
        open_it(model=path, **own).embed(["good", "film", "film"])
