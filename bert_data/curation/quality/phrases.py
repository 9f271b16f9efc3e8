r"""Count occurrences of phrases in a text, ignoring case.

    Phrases(["bad word", "xx"]).count("Bad word? xxl XX.", spaced=True)   ->  2

In a spaced text a phrase must stand alone: no letter, digit or underscore (`\w`) may touch it. In
an unspaced text it may occur anywhere.
"""

import re
from collections.abc import Iterable

_RUN = re.compile(r"\w+")


class Phrases:
    """Phrases to count; time grows with the text and with the phrases that it may contain."""

    def __init__(self, phrases: Iterable[str]) -> None:
        """Prepare the search; case does not matter."""
        self._phrases = sorted({phrase.lower() for phrase in phrases} - {""})
        # Only a text with the first word of a phrase can contain it; few texts have one.
        self._by_first_word: dict[str, list[re.Pattern[str]]] = {}
        for phrase in self._phrases:
            first = _RUN.search(phrase)
            alone = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)")
            self._by_first_word.setdefault(first.group() if first else "", []).append(alone)

    def count(self, text: str, *, spaced: bool) -> int:
        """Count the occurrences of the phrases in a text.

        Args:
          text: any.
          spaced: whether spaces separate its words.
        """
        lowered = text.lower()
        if not spaced:
            return sum(lowered.count(phrase) for phrase in self._phrases)
        present = {"", *_RUN.findall(lowered)} & self._by_first_word.keys()
        return sum(
            sum(1 for _ in pattern.finditer(lowered))
            for word in present
            for pattern in self._by_first_word[word]
        )
