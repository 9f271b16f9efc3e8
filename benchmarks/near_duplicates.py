"""Recall of near duplicates on planted copies, and speed, compared with rensa.

    python benchmarks/near_duplicates.py > benchmarks/results/near_duplicates.md

Copies are planted in real texts: words are replaced at the end, or here and there, so that the
exact similarity of each pair (of sets of 5 words, in plain Python) is anything from 0.5 to 1. rensa
gets the same shingles and as many permutations, bands and rows. Speed is in CPU seconds of the
process, the median of several runs, all in this call.
"""

import collections
import itertools
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import numpy as np  # noqa: E402
import rensa  # noqa: E402
from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document, Verdict  # noqa: E402
from bert_data.curation.duplicates.minhash import make_band_keys, permutations  # noqa: E402
from bert_data.curation.duplicates.winnowing import folded_words  # noqa: E402
from bert_data.curation.step import read_decisions  # noqa: E402
from bert_data.curation.steps.near_duplicates import (  # noqa: E402
    NearDuplicates,
    shingle_set,
)
from bert_data.curation.words import split_words  # noqa: E402
from bert_data.work.rounds import Part, Rounds  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data" / "corpora"
NUM_BANDS, NUM_ROWS = 14, 8
NUM_PERMUTATIONS = NUM_BANDS * NUM_ROWS
NUM_PAIRS = 6000
WORDS_A_TEXT = 250
MAX_SEEN = 0.1  # of a text's shingles, in texts before
NGRAM_SIZE = 5
NUM_RUNS = 5
THRESHOLD = 0.75
SEED = 1

Shingles = frozenset[tuple[str, ...]]


def read_documents() -> list[str]:
    """Documents of real text: encyclopedia articles and film reviews."""
    files = [SHARED / name for name in ("wikitext.txt", "movie_reviews.txt")]
    return [d for file in files for d in file.read_text(encoding="utf-8").split("\n\n") if d]


def plain_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def shingles_of(words: Sequence[str]) -> Shingles:
    return frozenset(tuple(words[i : i + NGRAM_SIZE]) for i in range(len(words) - NGRAM_SIZE + 1))


def similarity(one: Shingles, other: Shingles) -> float:
    return len(one & other) / len(one | other)


def unlike_texts(documents: Sequence[str]) -> Iterator[list[str]]:
    """Runs of words that have next to nothing in common, in a drawn order."""
    words = [word for document in documents for word in plain_words(document)]
    starts = list(range(0, len(words) - WORDS_A_TEXT, WORDS_A_TEXT))
    random.Random(SEED).shuffle(starts)
    seen: set[tuple[str, ...]] = set()
    for start in starts:
        text = words[start : start + WORDS_A_TEXT]
        shingles = shingles_of(text)
        if len(shingles & seen) < MAX_SEEN * len(shingles):
            yield text
        seen |= shingles


def planted_pairs(documents: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Texts and their copies, of words."""
    draw = random.Random(SEED)
    vocabulary = sorted({word for document in documents for word in plain_words(document)})
    pairs = []
    for text in itertools.islice(unlike_texts(documents), NUM_PAIRS):
        copy = list(text)
        similarity = draw.uniform(0.45, 1.0)
        num_changed = round(WORDS_A_TEXT * (1 - similarity) / (1 + similarity))
        if draw.random() < 0.5:
            changed: Sequence[int] = range(WORDS_A_TEXT - num_changed, WORDS_A_TEXT)
        else:
            changed = draw.sample(range(WORDS_A_TEXT), num_changed // NGRAM_SIZE)
        for place in changed:
            copy[place] = draw.choice(vocabulary)
        pairs.append((text, copy))
    return pairs


def run_step(documents: Sequence[Document], threshold: float) -> list[Verdict]:
    with tempfile.TemporaryDirectory() as name:
        own, observed = Path(name, "own"), Path(name, "observed")
        own.mkdir()
        step = NearDuplicates(max_similarity=threshold, num_bands=NUM_BANDS, rows_per_band=NUM_ROWS)
        step.observe(own, documents, observed)
        part = Part(str(observed), "planted", 0, len(documents), 0)
        decisions = step.decide(Rounds(f"{name}/round", [part], 10**9))
        return list(step.judge_shard(read_decisions(decisions, part), documents))


def rensa_minhashes(texts: Sequence[Sequence[str]]) -> list[rensa.RMinHash]:
    tokens = [[" ".join(shingle) for shingle in shingles_of(words)] for words in texts]
    return rensa.RMinHash.from_token_sets(tokens, NUM_PERMUTATIONS, SEED)


def rensa_candidates(texts: Sequence[Sequence[str]]) -> set[tuple[int, int]]:
    """Pairs of places that share a bucket."""
    minhashes = rensa_minhashes(texts)
    index = rensa.RMinHashLSH(THRESHOLD, NUM_PERMUTATIONS, NUM_BANDS)
    index.insert_many(minhashes)
    return {
        (min(i, j), max(i, j))
        for i, minhash in enumerate(minhashes)
        for j in index.query(minhash)
        if i != j
    }


def compare_recall(pairs: Sequence[tuple[list[str], list[str]]]) -> Iterator[str]:
    """A row for each range of similarities: how many of its pairs are found."""
    exact = [similarity(shingles_of(one), shingles_of(other)) for one, other in pairs]
    texts = [words for pair in pairs for words in pair]
    documents = [Document(str(n), "planted", " ".join(words)) for n, words in enumerate(texts)]
    verdicts = run_step(documents, 0.4)
    joined = {frozenset((v.document.id, v.measured[1].value)) for v in verdicts if not v.kept}
    candidates = rensa_candidates(texts)
    rows: dict[int, list[tuple[float, bool, bool]]] = collections.defaultdict(list)
    for n, s in enumerate(exact):
        ours = frozenset((str(2 * n), str(2 * n + 1))) in joined
        rows[min(int(s * 20 + 1e-9), 20)].append((s, ours, (2 * n, 2 * n + 1) in candidates))
    for number in range(10, 21):
        each = np.array(rows[number])
        curve = (1 - (1 - each[:, 0] ** NUM_ROWS) ** NUM_BANDS).mean()
        error = np.sqrt(curve * (1 - curve) / len(each))
        bounds = "1" if number == 20 else f"{number / 20:.2f} to {(number + 1) / 20:.2f}"
        ours, theirs = each[:, 1].mean(), each[:, 2].mean()
        yield f"| {bounds} | {len(each)} | {curve:.3f} ± {error:.3f} | {ours:.3f} | {theirs:.3f} |"


def compare_precision(pairs: Sequence[tuple[list[str], list[str]]]) -> Iterator[str]:
    """The documents rejected at a threshold, and the share of them that is right."""
    texts = [words for pair in pairs for words in pair]
    sets = [shingles_of(words) for words in texts]
    documents = [Document(str(n), "planted", " ".join(words)) for n, words in enumerate(texts)]
    alike = sum(similarity(sets[2 * n], sets[2 * n + 1]) > THRESHOLD for n in range(len(pairs)))
    rejected = [verdict for verdict in run_step(documents, THRESHOLD) if not verdict.kept]
    similar, equal = [], []
    for verdict in rejected:
        one, other = int(verdict.document.id), int(verdict.measured[1].value)
        similar.append((one, other))
        equal.append(similarity(sets[one], sets[other]) == verdict.measured[0].value)
    candidates = rensa_candidates(texts)
    minhashes = rensa_minhashes(texts)
    estimated = [(i, j) for i, j in candidates if minhashes[i].jaccard(minhashes[j]) > THRESHOLD]
    ways = {
        "bert_data, exact similarity": similar,
        "rensa, all that share a band": list(candidates),
        "rensa, estimated similarity": estimated,
    }
    for name, chosen in ways.items():
        right = sum(similarity(sets[i], sets[j]) > THRESHOLD for i, j in chosen)
        planted = sum(
            i // 2 == j // 2 and similarity(sets[i], sets[j]) > THRESHOLD for i, j in chosen
        )
        yield (f"| {name} | {len(chosen)} | {right / len(chosen):.4f} | {planted / alike:.4f} |")
    yield ""
    yield (
        f"{alike} planted pairs are more similar than {THRESHOLD}. The measured value was the exact"
        f" one of plain Python for {sum(equal)} of {len(equal)} rejected documents."
    )


def cpu_seconds(function: Callable[[], object]) -> float:
    function()
    seconds = []
    for _ in range(NUM_RUNS):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def compare_speed(texts: Sequence[str]) -> Iterator[str]:
    """Ways and how many MB of text they do in a CPU second."""
    megabytes = sum(len(text.encode()) for text in texts) / 1e6

    def fresh() -> list[Document]:
        return [Document(str(n), "planted", text) for n, text in enumerate(texts)]

    split = fresh()
    shingles = [shingle_set(folded_words(document.words), NGRAM_SIZE) for document in split]
    flat = np.concatenate(shingles)
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in shingles])]).tolist()

    def observe(documents: Sequence[Document]) -> None:
        with tempfile.TemporaryDirectory() as name:
            NearDuplicates().observe(Path(name), documents, Path(name, "observed"))

    def rensa_whole() -> None:
        rensa_candidates([plain_words(text) for text in texts])

    multipliers, addends = permutations(NUM_PERMUTATIONS)
    signature, keys = np.empty(NUM_PERMUTATIONS, np.uint32), np.empty(NUM_BANDS, np.uint64)

    def sign() -> None:
        for each in shingles:
            make_band_keys(each, multipliers, addends, signature, keys)

    hashes = flat.tolist()
    ways: dict[str, Callable[[], object]] = {
        "bert_data: words": lambda: [split_words(text) for text in texts],
        "bert_data: shingles and signatures of words, written to disk": lambda: observe(split),
        "bert_data: signatures and bands of hashed shingles": sign,
        "bert_data: all, with exact similarities": lambda: run_step(fresh(), THRESHOLD),
        "rensa: signatures of hashed shingles": lambda: (
            rensa.RMinHash.digest_matrix_from_flat_token_hashes(
                hashes, offsets, NUM_PERMUTATIONS, SEED
            )
        ),
        "rensa: all (words by `re`, candidates, no exact similarities)": rensa_whole,
    }
    for name, way in ways.items():
        yield f"| {name} | {megabytes / cpu_seconds(way):.1f} |"


def main() -> None:
    texts = read_documents()
    pairs = planted_pairs(texts)
    print("# Near duplicates\n")
    print(f"{describe_machine()}; rensa {version('rensa')}.\n")
    print(
        f"{NUM_PERMUTATIONS} permutations in {NUM_BANDS} bands of {NUM_ROWS} rows, shingles of"
        f" {NGRAM_SIZE} words; {len(pairs)} pairs of texts of {WORDS_A_TEXT} words."
    )
    print("\n## Share of planted pairs that are found\n")
    print("The curve is the mean of 1 - (1 - s^8)^14 over the pairs, ± its standard deviation.\n")
    print("| exact similarity s | pairs | curve | bert_data | rensa |\n|---|--:|--:|--:|--:|")
    for line in compare_recall(pairs):
        print(line, flush=True)
    print(f"\n## What is taken for a duplicate at a threshold of {THRESHOLD}\n")
    print("| way | pairs | of them right | of the planted ones found |\n|---|--:|--:|--:|")
    for line in compare_precision(pairs):
        print(line, flush=True)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    print("\n## Speed\n")
    print(f"{len(texts)} documents, {megabytes:.1f} MB; one thread, median of {NUM_RUNS} runs.\n")
    print("| way | MB a CPU second |\n|---|--:|")
    for line in compare_speed(texts):
        print(line, flush=True)


if __name__ == "__main__":
    main()
