"""Real documents and damaged variants of them, by formula, so that every rule rejects some.

    damaged("One two three.\nFour.", 6, 40)  ->  "One two three....\nFour...."

The damage increases with a document's number, so that there are documents on both sides of each
threshold, and near it.
"""

import re
from pathlib import Path

CORPORA = ("movie_reviews.txt", "state_union.txt", "inaugural.txt", "wikitext.txt")
MAX_DEGREE = 20


def every_nth(items, n, change):
    return [change(item) if place % n == 0 else item for place, item in enumerate(items)]


def by_words(text, change):
    return "\n".join(" ".join(change(line.split(" "))) for line in text.split("\n"))


def repeat_lines(text, degree):
    lines = text.split("\n")
    return "\n".join(lines + lines[:3] * (degree * len(lines) // 60))


def repeat_paragraphs(text, degree):
    lines = text.split("\n")
    paragraphs = ["\n".join(lines[start : start + 3]) for start in range(0, len(lines), 3)]
    return "\n\n".join(paragraphs + paragraphs[:2] * (degree * len(paragraphs) // 40))


def shorten_words(text, degree):
    n = 1 + degree // 4
    return by_words(text, lambda words: every_nth(words, 1, lambda word: word[: n + 1]))


def join_words(text, degree):
    n = 1 + degree // 4
    join = lambda words: ["".join(words[i : i + n]) for i in range(0, len(words), n)]  # noqa: E731
    return by_words(text, join)


def add_hashes(text, degree):
    return by_words(text, lambda words: every_nth(words, 25 - degree, lambda word: f"# {word}"))


def add_ellipses(text, degree):
    return "\n".join(every_nth(text.split("\n"), 1 + degree // 3, lambda line: f"{line}..."))


def add_bullets(text, degree):
    lines = text.split("\n")
    return "\n".join(
        line if place % 20 >= degree else f"- {line}" for place, line in enumerate(lines)
    )


def put_numbers(text, degree):
    n = 2 + degree // 2
    return by_words(text, lambda words: every_nth(words, n, lambda word: str(len(word) * 37)))


def cut(text, degree):
    return " ".join(text.split(" ")[: 30 + 3 * degree])


def drop_stop_words(text, degree):
    dropped = ("the", "be", "to", "of", "and", "that", "have", "with")[: 4 + degree // 4]
    return by_words(text, lambda words: [word for word in words if word not in dropped])


def insert_phrase(text, degree):
    phrase = "buy one of our fine new shoes here online today now"
    words_of_phrase = " ".join(phrase.split()[: 2 + degree // 2])
    change = lambda word: f"{word} {words_of_phrase}"  # noqa: E731
    return by_words(text, lambda words: every_nth(words, 2 + degree, change))


def break_lines(text, degree):
    words = text.split()
    n = 1 + degree // 2
    return "\n".join(" ".join(words[start : start + n]) for start in range(0, len(words), n))


def drop_marks(text, degree):
    lines = text.split("\n")
    return "\n".join(
        line.rstrip(' .!?"') if place % 20 < degree else line for place, line in enumerate(lines)
    )


def add_code(text, degree):
    added = (
        "for (;;) { run(); } is it.",
        "Then lorem ipsum is what it says.",
        "See javascript now.",
    )
    lines = text.split("\n")
    return "\n".join([*lines[:2], added[degree % 3], "Read our privacy policy here.", *lines[2:]])


def make_longer(text, degree):
    return "\n\n".join([text] * (1 + degree // 3))


def leave(text, degree):
    return text


DAMAGES = (leave, repeat_lines, repeat_paragraphs, shorten_words, join_words, add_hashes)
DAMAGES += (add_ellipses, add_bullets, put_numbers, cut, drop_stop_words, insert_phrase)
DAMAGES += (break_lines, drop_marks, add_code, make_longer)


def damaged(text, kind, degree):
    """A variant of a text.

    Args:
      text: of a document.
      kind: which of DAMAGES.
      degree: how badly, in [0, MAX_DEGREE].
    """
    return DAMAGES[kind % len(DAMAGES)](text, degree)


def corpus_documents(folder: Path, name: str) -> list[str]:
    """The documents of a corpus, in their order.

    Wikitext writes `1 @,@ 000`, `Nero 's` and `<unk>` for rare words, as no other text does; that
    is undone.
    """
    corpus = re.sub(r" @([-,.])@ | (?='s )", r"\1", (folder / name).read_text("utf-8"))
    return [text for text in corpus.replace("<unk>", "Unk").split("\n\n") if text.strip()]


def real_documents(folder: Path, num_documents: int) -> list[str]:
    """Documents of all corpora, evenly taken, in order of the corpora."""
    texts = []
    for name in CORPORA:
        documents = corpus_documents(folder, name)
        num_of_each = num_documents // len(CORPORA)
        texts += documents[:: max(1, len(documents) // num_of_each)][:num_of_each]
    return texts


def documents_and_damaged(folder: Path, num_documents: int, max_characters: int) -> list[str]:
    """Real documents, cut at a line's end, each followed by one damaged variant of it."""
    texts = []
    for number, text in enumerate(real_documents(folder, num_documents)):
        if len(text) > max_characters:
            text = text[:max_characters].rpartition("\n")[0] or text[:max_characters]
        kind = number % (len(DAMAGES) - 1) + 1
        degree = number // (len(DAMAGES) - 1) * 8 % (MAX_DEGREE + 1)
        texts += [text, damaged(text, kind, degree)]
    return [text for text in texts if text.strip()]
