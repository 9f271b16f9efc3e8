"""Split a text into sentences.

    "It is so-so. Why? Mr. Smith (the hero!) dies."
      -> "It is so-so." "Why?" "Mr. Smith (the hero!) dies."

The `sentencex` library does it, by rules about each language's full stops and abbreviations. The
lines of wrapped paragraphs are joined first (`wrapping.py`); every other line end ends a sentence:
in modern texts a line is a paragraph, a heading or a list item. If the sentences are known, provide
them one per line instead.
"""

import re

from bert_data.text.wrapping import join_wrapped_lines

DEFAULT_LANGUAGE = "en"

# The library takes quadratic time for some hostile lines, so it gets long ones in parts.
_MAX_CHARACTERS = 10_000
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")


def check_language(language: str) -> None:
    """Refuse what is not a language code.

    Raises:
      ValueError: it is neither like "en" nor like "zh-hans".
    """
    if not _LANGUAGE.fullmatch(language):
        raise ValueError(
            f"language is {language!r}; it must be an ISO 639 code, such as en, de or zh"
        )


def split_sentences(
    text: str, language: str = DEFAULT_LANGUAGE, *, joins_lines: bool = True
) -> list[str]:
    """Return the sentences of a text, stripped; none is empty.

    Args:
      text: any that UTF-8 can encode. A sentence of more than 10,000 characters is cut.
      language: its language code. The rules of a related language, in the end English, apply to one
        that the library does not know.
      joins_lines: whether to join the lines of wrapped paragraphs first.
    """
    from sentencex import segment  # takes 4 MB, which jobs without whole documents save

    if joins_lines:
        text = join_wrapped_lines(text)
    sentences: list[str] = []
    for line in text.replace("\r", "\n").split("\n"):
        start = 0
        while len(line) - start > _MAX_CHARACTERS:
            sentences_of_part = segment(language, line[start : start + _MAX_CHARACTERS])
            complete = sentences_of_part[:-1] or sentences_of_part  # the last one may continue
            sentences += complete
            start += sum(map(len, complete))
        if start < len(line):
            sentences += segment(language, line[start:])
    stripped = (sentence.strip() for sentence in sentences)
    return [sentence for sentence in stripped if sentence]
