"""Numbers of documents have 64 bits."""

import pytest

from bert_data.curation.step import make_step
from tests.curation.corpora import make_documents, run_corpus_step
from tests.curation.steps import test_semantic_duplicates
from tests.curation.steps.test_near_duplicates import variations

STEPS = [
    ("exact_duplicates", {"max_copies": 2}),
    ("line_duplicates", {"max_documents": 2}),
    ("near_duplicates", {"max_similarity": 0.5, "rows_per_band": 3}),
    ("near_duplicates", {"max_similarity": 0.3, "rows_per_band": 1}),
    ("near_duplicates", {"unit": "line", "ngram_size": 2, "shortest": 3, "rows_per_band": 1}),
    ("contained_duplicates", {"max_containment": 0.5, "ngram_size": 2}),
    ("semantic_duplicates", {"max_similarity": 0.9}),
]


def make_shards():
    texts = [text.replace("w1", "\nw1") for text in variations(3)]
    shards = [make_documents(texts[:20], "web"), make_documents(texts[10:], "wiki")]
    embeddings = iter(test_semantic_duplicates.variations(3))
    return [[each.with_fields(embedding=next(embeddings)) for each in shard] for shard in shards]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), STEPS)
@pytest.mark.parametrize("max_bytes", [4_000, 10**9])
def test_there_may_be_more_than_32_bits_count(tmp_path, name, parameters, max_bytes):
    """As if the shards came after 2^40 documents, and straddled a power of two."""
    step, shards = make_step(name, parameters), make_shards()
    plain = run_corpus_step(step, shards, tmp_path)
    for first in (2**32 - 25, 2**40):
        verdicts = run_corpus_step(step, shards, tmp_path, max_bytes=max_bytes, first=first)
        assert verdicts == plain
    assert any(not v.kept or v.edits for shard in plain for v in shard)
