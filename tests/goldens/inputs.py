"""The texts and vocabularies that the goldens were recorded with: all are made by formula.

    TEXTS["crlf_bom"]() -> bytes of a text file      VOCABULARIES["twins"]() -> tokens, one a line

A change of a text or a vocabulary makes the goldens that name it worthless; README.md tells how
they were recorded.
"""

from collections.abc import Callable, Iterator, Sequence

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SYLLABLES = ("ba", "do", "ki", "lu", "me", "no", "ra", "si", "tu", "ve")
WORDS = tuple(first + second for first in SYLLABLES for second in SYLLABLES)


def numbers(seed: int) -> Iterator[int]:
    """Park and Miller's generator, without end."""
    while True:
        seed = seed * 48271 % 2147483647
        yield seed


def documents(
    count: int, most_sentences: int, most_words: int, words: Sequence[str] = WORDS, seed: int = 1
) -> list[list[str]]:
    """Documents of 1 to `most_sentences` sentences of 1 to `most_words` words and a mark."""
    draw = numbers(seed)
    return [
        [
            " ".join(words[next(draw) % len(words)] for _ in range(1 + next(draw) % most_words))
            + (".", " ?", "", " zzz.")[next(draw) % 4]
            for _ in range(1 + next(draw) % most_sentences)
        ]
        for _ in range(count)
    ]


def as_text(stories: Sequence[Sequence[str]], *, line_end: str = "\n") -> bytes:
    ends = line_end * 2
    return (ends.join(line_end.join(story) for story in stories) + line_end).encode()


def crlf_bom() -> bytes:
    """A byte order mark, line ends of Windows, and carriage returns inside and between lines."""
    text = as_text(documents(9, 5, 6, seed=2), line_end="\r\n")
    return b"\xef\xbb\xbf" + text.replace(b"me", b"m\re") + b"\r\nba\r\rdo\r\n\r\r\r\nki\r"


def unicode_space() -> bytes:
    """Lines of white space of all kinds, of which some are blank, and spaces inside of lines."""
    spaces = "\t\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u2029\u200b\u3000\ufeff"
    lines = []
    for number, sentence in enumerate(
        line for story in documents(12, 4, 7, seed=3) for line in story
    ):
        space = spaces[number % len(spaces)]
        lines += [sentence.replace(" ", space), space * (number % 3)]
    return "\n".join(lines).encode()


def long_words() -> bytes:
    """Words of up to 600 letters, around the limit of 200, and pieces that do not fit a mask."""
    sizes = (4, 10, 40, 99, 100, 101, 150, 300)
    stories = [
        [f"{'bado' * (size // 2)}{'k' * (number % 2)} kilu.", "me " + "no" * size]
        for number, size in enumerate(sizes)
    ]
    return as_text(stories)


def accents() -> bytes:
    """Capitals, accents before and after composition, and signs that NFD or cleaning changes."""
    signs = (
        "Á",
        "e\u0301",
        "İ",
        "ß",
        "Σ",
        "\u00ad",
        "\u200d",
        "ﬁ",
        "\u037e",
        "\u212b",
        "\ufffd",
        "각",
    )
    draw = numbers(4)
    words = [*WORDS]
    for number, word in enumerate(WORDS[::3]):
        sign = signs[next(draw) % len(signs)]
        words += [word.upper(), word.replace("a", "á").replace("o", "o\u0302"), word[:2] + sign]
        words.append(word.capitalize() + ("’s", "-", "…", "^", "。")[number % 5] + word)
    return as_text(documents(30, 6, 12, words, seed=5))


def scripts() -> bytes:
    """Words of letters of many scripts, with punctuation, marks and ideographs among them."""
    draw = numbers(6)
    firsts = (0x61, 0xC0, 0x391, 0x410, 0x5D0, 0x627, 0x905, 0xE01, 0x1100, 0x3041, 0x4E00, 0xAC00)
    others = "\u0301\u0323\u093e、。！？«»¿'\u2019 \u3000-"
    words = []
    for _ in range(600):
        first = firsts[next(draw) % len(firsts)]
        letters = [chr(first + next(draw) % 24) for _ in range(1 + next(draw) % 7)]
        letters.insert(next(draw) % (len(letters) + 1), others[next(draw) % len(others)])
        words.append("".join(letters))
    return as_text(documents(25, 8, 14, words, seed=7))


TEXTS: dict[str, Callable[[], bytes]] = {
    "small": lambda: as_text(documents(40, 12, 17)),
    "other": lambda: as_text(documents(7, 3, 40, seed=8)),
    "accents": accents,
    "crlf_bom": crlf_bom,
    "long_words": long_words,
    "one_document": lambda: as_text(documents(1, 30, 9, seed=9)),
    "one_sentence": lambda: b"bado kilu ba meno zzz",
    "one_word_documents": lambda: as_text([[word[: 2 + i % 3]] for i, word in enumerate(WORDS)]),
    "scripts": scripts,
    "special_tokens": lambda: as_text(
        documents(8, 4, 9, [*WORDS[:20], *SPECIAL_TOKENS, "##ba", "##", "#"], seed=10)
    ),
    "unicode_space": unicode_space,
}


def pieces() -> list[str]:
    """Some words in whole, the others in syllables; "zzz" is unknown."""
    return [".", "?", *SYLLABLES, *(f"##{syllable}" for syllable in SYLLABLES), *WORDS[::3]]


def characters() -> list[str]:
    """Every code point of the scripts of the goldens' texts, at the start of a word and inside."""
    ranges = ((0x21, 0x700), (0x900, 0x980), (0xE00, 0xE80), (0x1100, 0x1200), (0x2000, 0x2100),
              (0x3000, 0x3100), (0x4E00, 0x4E40), (0xAC00, 0xAC40))  # fmt: skip
    points = [chr(code) for first, end in ranges for code in range(first, end)]
    return [*points, *(f"##{point}" for point in points)]


VOCABULARIES: dict[str, Callable[[], list[str]]] = {
    "pieces": lambda: [*SPECIAL_TOKENS, *pieces()],
    "twins": lambda: [*pieces()[::2], *SPECIAL_TOKENS, "", *pieces(), "", *pieces()[:9]],
    "characters": lambda: [*SPECIAL_TOKENS, *characters()],
}

TEMPLATES = ("{0}", "A{0}Σ {0}\u0301a")
"""Texts for each code point: alone, and beside letters, a capital sigma and an accent."""
