r"""Cut runs of words out of a text.

"One two.  Three four.\n\nFive."  without words 2 to 5   ->  "One two.\n\nFive."
"""

from collections.abc import Iterable, Sequence

from bert_data.curation.words import Words


def cut_words(words: Words, runs: Iterable[Sequence[int]]) -> str:
    """Return the text without some of its words.

    Of the white space before and after a cut, the one with more line breaks stays (the first if
    they are equal); the text is stripped at both ends.

    Args:
      words: of the text.
      runs: the first word of each run, and the one after its last; increasing and not adjacent.
    """
    text = words.text
    kept, place = [], 0
    for begin, end in runs:
        before = int(words.ends[begin - 1]) if begin else 0
        first, last = int(words.starts[begin]), int(words.ends[end - 1])
        after = int(words.starts[end]) if end < len(words) else len(text)
        kept.append(text[place:before])
        spaces = text[before:first], text[last:after]
        if begin and end < len(words):
            kept.append(max(spaces, key=lambda space: space.count("\n")))
        place = after
    kept.append(text[place:])
    return "".join(kept)
