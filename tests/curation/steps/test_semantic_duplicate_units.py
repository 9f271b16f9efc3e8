"""Semantic duplicates of paragraphs, lines and sentences, against the step on units alone."""

import dataclasses
import itertools
import random

import pytest

from bert_data.curation.document import Document, Measured
from bert_data.curation.step import make_step
from bert_data.curation.steps.semantic_duplicates import SemanticDuplicates
from tests.curation.corpora import kept_ids, run_corpus_step
from tests.curation.steps.test_near_duplicate_units import SEPARATORS
from tests.curation.steps.test_semantic_duplicates import variations
from tests.rows import mostly_slow

SENTENCE = "The {} went down to the river at noon with nobody."


def make_units(seed: int) -> list[tuple[str, list[float]]]:
    """Units of different lengths, a third of them too short, and their embeddings."""
    draw = random.Random(seed)
    units = []
    for number, embedding in enumerate(variations(seed)):
        long = SENTENCE.format("x" * (number + 1))
        units.append((draw.choice([long, long, f"Y{'y' * number}."]), embedding))
    return units


@mostly_slow("unit", ["paragraph", "line", "sentence"])
@mostly_slow("keep", ["farthest", "longest"])
def test_units_are_rejected_as_if_each_were_a_document(tmp_path, unit, keep):
    seed = len(unit) + len(keep)
    units, draw = make_units(seed), random.Random(seed)
    alone = [
        Document(f"web/{number}", "web", text, {"embedding": embedding})
        for number, (text, embedding) in enumerate(units)
        if len(text.split()) >= 10
    ]
    step = SemanticDuplicates(max_similarity=0.9, keep=keep, num_clusters=4)
    kept = kept_ids(run_corpus_step(step, [alone], tmp_path))
    assert 0 < len(kept) < len(alone)
    lost = {document.text for document in alone if document.id not in kept}

    documents, texts, name = [], {}, None
    while name is None or texts[name]:  # the last document is empty
        size = draw.randrange(1, 6)
        own, units = units[:size], units[size:]
        name = f"web/{len(documents)}"
        texts[name] = [text for text, _ in own]
        fields = {"embedding": [embedding for _, embedding in own], "url": "u"}
        documents.append(Document(name, "web", SEPARATORS[unit].join(texts[name]), fields))
    step = dataclasses.replace(step, unit=unit)
    shards = [documents[:5], [], documents[5:]]
    verdicts = run_corpus_step(step, shards, tmp_path, max_bytes=3_000, first=7)
    for document, verdict in zip(documents, itertools.chain(*verdicts), strict=True):
        own = texts[document.id]
        left = [text for text in own if text not in lost]
        assert verdict.document.text == SEPARATORS[unit].join(left)
        assert verdict.edits == ({f"{unit}s": len(own) - len(left)} if own != left else {})
        assert dict(verdict.document.fields) == {"url": "u"}


def test_a_document_of_which_too_little_is_left_is_rejected(tmp_path):
    texts = [SENTENCE.format(name) for name in ("miller", "millers", "baker")]
    documents = [
        Document("web/0", "web", texts[1], {"embedding": [[1.0, 0.0]]}),
        Document("web/1", "web", "\n".join(texts[::2]), {"embedding": [[1, 0.01], [0, 1]]}),
    ]
    for min_kept, kept in ((0.5, {"web/0", "web/1"}), (0.6, {"web/0"})):
        step = SemanticDuplicates(unit="line", min_kept=min_kept, keep="longest", num_clusters=1)
        verdicts = run_corpus_step(step, [documents], tmp_path)
        assert kept_ids(verdicts) == kept
        value = Measured("min_kept", 0.5, min_kept, failed=min_kept > 0.5)
        assert verdicts[0][1].measured == (value,)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[1.0, 2.0]], "has 1 embeddings for 2 lines.*; with unit=line, it is a list"),
        ([1.0, 2.0], "is the embedding of one text; an embedding is.*; with unit=line, it is a"),
        ("[[1.0]]", "is '"),
        (None, "has no field 'embedding'"),
    ],
)
def test_embeddings_that_are_not_those_of_units_are_refused(tmp_path, value, words):
    text = "\n".join(SENTENCE.format(name) for name in ("miller", "baker"))
    fields = {} if value is None else {"embedding": value}
    documents = [Document("web/3", "web", text, fields)]
    with pytest.raises(ValueError, match=f"document 'web/3'.*{words}"):
        run_corpus_step(SemanticDuplicates(unit="line"), [documents], tmp_path)


def test_embeddings_of_units_have_one_length(tmp_path):
    text = "\n".join(SENTENCE.format(name) for name in ("miller", "baker"))
    documents = [Document("web/3", "web", text, {"embedding": [[1.0, 2.0], [1.0]]})]
    with pytest.raises(ValueError, match=r"'web/3' has 1 numbers; .* 'web/3' has 2 numbers; all"):
        run_corpus_step(SemanticDuplicates(unit="line"), [documents], tmp_path)


def test_min_kept_needs_units():
    with pytest.raises(ValueError, match=r"min_kept is 0\.5; it needs unit=paragraph, line or"):
        make_step("semantic_duplicates", {"min_kept": 0.5})
