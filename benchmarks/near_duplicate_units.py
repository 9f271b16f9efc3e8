"""Near duplicates of paragraphs, lines and sentences: what of planted ones is found, and how fast.

    python benchmarks/near_duplicate_units.py > benchmarks/results/near_duplicate_units.md

Sentences of film reviews and of an encyclopedia, 20 to 40 words long, stand on lines of their own;
copies with some words changed are planted into another data set. A copy is found if it is cut out
there. The expected share follows from the exact similarity s of each pair: 1 - (1 - s^8)^14.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document, Verdict  # noqa: E402
from bert_data.curation.step import read_decisions  # noqa: E402
from bert_data.curation.steps.near_duplicates import NearDuplicates, shingle_set  # noqa: E402
from bert_data.curation.words import split_words  # noqa: E402
from bert_data.text.sentences import split_sentences  # noqa: E402
from bert_data.work.rounds import Part, Rounds  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data" / "corpora"
UNITS = ("document", "paragraph", "line", "sentence")
NUM_PLANTED = 3000
NUM_CHANGES = (1, 2, 3)
SENTENCES_A_DOCUMENT = 10
NUM_RUNS = 3
SEED = 1


def read_texts(name: str) -> list[str]:
    return [t for t in (SHARED / f"{name}.txt").read_text(encoding="utf-8").split("\n\n") if t]


def long_sentences(texts: Sequence[str]) -> list[str]:
    sentences = {s for text in texts for s in split_sentences(text, joins_lines=False)}
    return sorted(s for s in sentences if 20 <= len(s.split()) <= 40 and s[-1] == ".")


def run_step(step: NearDuplicates, shards: Sequence[Sequence[Document]]) -> list[list[Verdict]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts, first = [], 0
        for number, shard in enumerate(shards):
            path = folder / f"observed-{number}"
            step.observe("", shard, path)
            end = first + len(shard)
            parts.append(
                Part(str(path), shard[0].source, first, end, sum(d.num_bytes for d in shard))
            )
            first = end
        decisions = step.decide(Rounds(str(folder / "round"), parts, 10**9))
        return [
            list(step.judge_shard(read_decisions(decisions, part), shard))
            for part, shard in zip(parts, shards, strict=True)
        ]


def similarity(one: str, other: str) -> float:
    sets = [set(shingle_set(split_words(text.lower()), 5).tolist()) for text in (one, other)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def make_documents(sentences: Sequence[str], source: str) -> list[Document]:
    size = SENTENCES_A_DOCUMENT
    parts = [sentences[start : start + size] for start in range(0, len(sentences), size)]
    return [Document(f"{source}/{n}", source, "\n".join(each)) for n, each in enumerate(parts)]


def compare_recall(sentences: Sequence[str]) -> None:
    draw = random.Random(SEED)
    for num_changes in NUM_CHANGES:
        chosen = draw.sample(sentences, NUM_PLANTED)
        copies = []
        for sentence in chosen:
            words = sentence.split()
            for place in draw.sample(range(len(words) - 1), num_changes):
                words[place] = f"x{draw.randrange(10**6)}"
            copies.append(" ".join(words))
        values = [similarity(*pair) for pair in zip(chosen, copies, strict=True)]
        step = NearDuplicates(unit="line", max_similarity=0.3)
        shards = [make_documents(chosen, "originals"), make_documents(copies, "copies")]
        verdicts = run_step(step, shards)
        num_cut = [sum(v.edits.get("lines", 0) for v in shard) for shard in verdicts]
        above = [s for s in values if s > 0.3]
        expected = sum(1 - (1 - s**8) ** 14 for s in above) / len(values)
        mean = statistics.mean(values)
        shares = f"{expected:.3f} | {num_cut[1] / NUM_PLANTED:.3f} | {num_cut[0]}"
        print(f"| {num_changes} | {mean:.2f} | {shares} |", flush=True)


def compare_speed(texts: Sequence[str]) -> None:
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    for unit in UNITS:
        seconds = []
        for _ in range(NUM_RUNS):
            documents = [Document(str(n), "texts", text) for n, text in enumerate(texts)]
            start = time.process_time()
            verdicts = run_step(NearDuplicates(unit=unit), [documents])
            seconds.append(time.process_time() - start)
        num_cut = sum(sum(v.edits.values()) + (not v.kept) for v in verdicts[0])
        print(
            f"| {unit} | {num_cut:,} | {megabytes / statistics.median(seconds):.1f} |", flush=True
        )


def main() -> None:
    texts = read_texts("wikitext") + read_texts("movie_reviews")
    print("# Near duplicates of paragraphs, lines and sentences\n")
    print(f"`benchmarks/near_duplicate_units.py`. {describe_machine()}.\n")
    print("## Share of planted sentences that are found\n")
    print(
        f"{NUM_PLANTED:,} sentences of 20 to 40 words, copied to another data set with some words"
        " changed; `max_similarity` is 0.3, so that the bands decide.\n"
    )
    print("| words changed | mean similarity | curve | cut out of the copies | of the originals |")
    print("|---|--:|--:|--:|--:|")
    compare_recall(long_sentences(texts))
    print("\n## Speed\n")
    size = sum(len(text.encode()) for text in texts) / 1e6
    print(f"{len(texts):,} documents, {size:.1f} MB; one thread, medians of {NUM_RUNS} runs.\n")
    print("| unit | rejected or cut | MB a CPU second |")
    print("|---|--:|--:|")
    compare_speed(texts)


if __name__ == "__main__":
    main()
