"""How many planted books are found, by the part of them that another book has, as Markdown.

    python benchmarks/contained_books.py > benchmarks/results/contained_books.md

Books are made of the reviews beside the checkout, 1,500 words each, so that they share the phrases
of English. Planted are books in an anthology of five, books that went into a longer one up to a
part, and books of which another of the same length has a part, word by word, in a row or changed
here and there; and copies in disguise, which differ in characters that look alike or are not seen.
The step of the presets is beside `near_duplicates` of the same threshold. CPU
seconds are of one process that observes and decides.
"""

import itertools
import random
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.step import make_step, read_decisions  # noqa: E402
from bert_data.work.rounds import Part, Rounds  # noqa: E402

REVIEWS = CHECKOUT.parent / "shared" / "data" / "corpora" / "movie_reviews.txt"
NUM_WORDS, NUM_PLANTED = 1_500, 20
PARTS = (0.95, 0.93, 0.91, 0.89, 0.85)
STEPS = {
    "contained_duplicates": {"max_containment": 0.9},
    "near_duplicates": {"max_similarity": 0.9},
}

DISGUISES = {
    "with curly quotes": lambda word: word.replace("'", "\u2019").replace('"', "\u201c"),
    "with accents of their own (NFD)": lambda word: unicodedata.normalize("NFD", word),
    "with soft hyphens": lambda word: word[:3] + "\u00ad" + word[3:] if len(word) > 6 else word,
    "in full-width letters": lambda word: "".join(
        chr(ord(char) + 0xFEE0) if char.isascii() and char.isalnum() else char for char in word
    ),
    "with zero-width spaces": lambda word: word[:2] + "\u200b" + word[2:],
    "with underscores for spaces": lambda word: f"{word}_",
}


HEADING = """# Planted books that are found

    python benchmarks/contained_books.py > benchmarks/results/contained_books.md

Twenty of each kind are planted; the steps decide above 90%, by runs of five words. Runs that occur
twice count once, so that some books have more of another than their words say.
"""


def plant(books, draw):
    """The texts by kind, each with the number of books that are to go, of which one of a pair."""
    planted = {}

    def take(number):
        return [books.pop() for _ in range(number)]

    groups = [take(5) for _ in range(NUM_PLANTED // 5)]
    planted["in an anthology of five"] = [
        [*group, list(itertools.chain(*group))] for group in groups
    ]
    for part in PARTS:
        size = round(NUM_WORDS * part)
        pairs = [take(3) for _ in range(NUM_PLANTED)]
        planted[f"{part:.0%} of it in one twice as long"] = [
            [one, one[:size] + other + third[: NUM_WORDS - size]] for one, other, third in pairs
        ]
        pairs = [take(2) for _ in range(NUM_PLANTED)]
        planted[f"{part:.0%} shared by two of a length"] = [
            [one, one[:size] + other[size:]] for one, other in pairs
        ]
    changed = []
    for one, other in [take(2) for _ in range(NUM_PLANTED)]:
        copy = list(one)
        for place in draw.sample(range(NUM_WORDS), NUM_WORDS // 100):
            copy[place] = other[place]
        changed.append([one, copy])
    planted["every hundredth word is another"] = changed
    for kind, disguise in DISGUISES.items():
        copies = [
            [one, [disguise(word) for word in one]] for (one,) in map(take, [1] * NUM_PLANTED)
        ]
        planted[f"a copy {kind}"] = copies
    return planted


def find(name, documents, folder):
    """The numbers of rejected documents, and CPU seconds."""
    step, path = make_step(name, STEPS[name]), Path(folder) / "observed"
    start = time.process_time()
    step.observe(folder, iter(documents), path)
    part = Part(str(path), "books", 0, len(documents), sum(d.num_bytes for d in documents))
    decisions = step.decide(Rounds(str(Path(folder) / "round"), [part], 10**9))
    verdicts = step.judge_shard(read_decisions(decisions, part), iter(documents))
    rejected = {number for number, verdict in enumerate(verdicts) if not verdict.kept}
    return rejected, time.process_time() - start


def main():
    draw = random.Random(1)
    words = REVIEWS.read_text("utf-8").split()
    # A letter with an accent in each twentieth word, which English has not.
    words = [w.replace("e", "\u00e9") if n % 20 == 0 else w for n, w in enumerate(words)]
    books = [words[n : n + NUM_WORDS] for n in range(0, len(words) - NUM_WORDS, NUM_WORDS)]
    draw.shuffle(books)
    planted = plant(books, draw)
    documents, owners = [], []
    for kind, groups in {**planted, "none": [[each] for each in books]}.items():
        for group in groups:
            documents += [
                Document(str(len(documents)), "books", " ".join(each).replace("_ ", "_"))
                for each in group
            ]
            owners += [kind] * len(group)
    found = {}
    for name in STEPS:
        with tempfile.TemporaryDirectory() as folder:
            find(name, documents[:4], folder)  # compile
        with tempfile.TemporaryDirectory() as folder:
            found[name] = find(name, documents, folder)
    print(HEADING)
    print("| planted | " + " | ".join(f"`{name}`" for name in STEPS) + " |")
    print("|---|" + "--:|" * len(STEPS))
    for kind in [*planted, "none"]:
        num_planted = NUM_PLANTED if kind in planted else owners.count(kind)
        counts = [sum(owners[each] == kind for each in rejected) for rejected, _ in found.values()]
        cells = (f"{count} of {num_planted}" for count in counts)
        print(f"| {kind} | " + " | ".join(cells) + " |")
    print("| CPU seconds | " + " | ".join(f"{seconds:.2f}" for _, seconds in found.values()) + " |")
    num_words = sum(len(document.text.split()) for document in documents)
    print(f"\n{len(documents):,} books, {num_words:,} words. {describe_machine()}")


if __name__ == "__main__":
    main()
