"""Speed of the step safety with lists of any length, beside one regular expression of the list.

    python benchmarks/flagged_words.py > benchmarks/results/flagged_words.md

The texts are those of ../shared's corpora. The entries are runs of one to three of their words (in
Chinese of pairs of characters), most of them reversed, so that few occur in the texts, as in a real
list. The peer is what C4's code and datatrove's C4BadWordsFilter do: one expression with all
entries as alternatives, searched in the text in lower case until the first is found. It looks at a
part of the texts, as many alternatives take long. Each figure is the median of several runs.
"""

import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.step import make_step  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data" / "corpora"
CORPORA = {"movie_reviews": "en", "wikitext": "en", "lcsts": "zh"}
SIZES = (400, 10_000, 100_000)
NUM_RUNS = 5
TEXTS_A_DOCUMENT = {"lcsts": 20}  # short news
MAX_PEER_BYTES = {400: 1_000_000, 10_000: 100_000, 100_000: 10_000}


def read_documents(name: str) -> list[Document]:
    texts = (SHARED / f"{name}.txt").read_text(encoding="utf-8").split("\n\n")
    size = TEXTS_A_DOCUMENT.get(name, 1)
    joined = ["\n".join(texts[start : start + size]) for start in range(0, len(texts), size)]
    return [Document(f"{name}/{n}", name, text) for n, text in enumerate(joined) if text]


def make_list(documents: Sequence[Document], language: str, size: int) -> list[str]:
    """Entries of rare words, of which one in a hundred may occur in the texts."""
    draw, entries = random.Random(size), set()
    text = " ".join(document.text for document in documents).lower()
    if language == "zh":
        parts = sorted(set(re.findall(r"[^\W\d_]{2}", text)))
    else:
        parts = sorted(set(re.findall(r"[^\W\d_]{4,}", text)))
    while len(entries) < size:
        chosen = draw.choices(parts, k=draw.randint(1, 3))
        if draw.random() < 0.99:
            chosen = [part[::-1] for part in chosen]
        entries.add(("" if language == "zh" else " ").join(chosen))
    return sorted(entries)


def rate(work: Callable[[Document], object], documents: Sequence[Document]) -> float:
    """MB a CPU second, the median of several runs."""
    work(documents[0])
    num_bytes = sum(document.num_bytes for document in documents)
    seconds = []
    for _ in range(NUM_RUNS):
        start = time.process_time()
        for document in documents:
            work(document)
        seconds.append(time.process_time() - start)
    return num_bytes / statistics.median(seconds) / 1e6


def some(documents: Sequence[Document], max_bytes: int) -> list[Document]:
    chosen, size = [], 0
    for document in documents:
        chosen.append(document)
        size += document.num_bytes
        if size > max_bytes:
            break
    return chosen


def open_safety(entries: Sequence[str], language: str) -> Callable[[Document], object]:
    folder = Path(tempfile.mkdtemp())
    (folder / "list.txt").write_text("\n".join(entries), encoding="utf-8")
    files = {language: [str(folder / "list.txt")]}
    step = make_step("safety", {"word_files": files, "language": language})
    (folder / "prepared").mkdir()
    step.prepare(folder / "prepared")
    return step.open(folder / "prepared")


def open_regex(entries: Sequence[str], language: str) -> Callable[[Document], object]:
    alternatives = "|".join(map(re.escape, entries))
    if language != "zh":
        alternatives = rf"(?:\W|^)({alternatives})(?:\W|$)"
    search = re.compile(alternatives).search
    return lambda document: search(document.text.lower())


def main() -> None:
    print("# Speed of the step safety\n")
    print(
        "`benchmarks/flagged_words.py`. MB a CPU second on one core, medians of five runs, while"
        " other work was running; words are split before, as other steps share them. The regular"
        " expression stops at the first entry it finds; the step finds all.\n"
    )
    print(describe_machine(), end="\n\n")
    print("| texts | bytes a document | entries | safety | regular expression | ratio |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, language in CORPORA.items():
        documents = read_documents(name)
        for document in documents:
            _ = document.words
        mean = sum(document.num_bytes for document in documents) / len(documents)
        for size in SIZES:
            entries = make_list(documents, language, size)
            ours = rate(open_safety(entries, language), documents)
            peer = rate(open_regex(entries, language), some(documents, MAX_PEER_BYTES[size]))
            figures = f"{mean:,.0f} | {size:,} | {ours:,.1f} | {peer:,.3f} | {ours / peer:,.0f}"
            print(f"| {name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
