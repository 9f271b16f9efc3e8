"""What a longer vocabulary changes in the words of a text, and what it must not change.

heart ##burn -> heartburn            a new token, encoded as itself
heart ##burn ##s -> heartburn ##s    another word, which begins with a new token
heart -> heart                       all others: texts of these have the same ids
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from bert_data.tokens.new_tokens import SplitWords, join_word
from bert_data.tokens.tokenizer import FastTokenizer

_MOST_TOKENS = 126  # of a text, beside [CLS] and [SEP]
_NUM_WORDS, _WORDS_OF_TEXT = 1024, 64  # of texts that are made from the vocabulary

Pieces = tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WordChanges:
    """The words of a text before and after.

    Attributes:
      num_words: of the text.
      num_tokens: of the text, before and after.
      num_others: different words that begin with a new token; how often they occur; and how many of
        them have more pieces than before.
      texts: token ids of texts without new tokens, [CLS] and [SEP] included.
    """

    num_words: int
    num_tokens: tuple[int, int]
    num_others: tuple[int, int, int]
    texts: Sequence[Sequence[int]]

    def lines(self) -> list[str]:
        """Return what a report says about the text."""
        before, after = (number / self.num_words for number in self.num_tokens)
        kinds, times, worse = self.num_others
        return [
            f"text           {before:.4f} -> {after:.4f} tokens per word, in"
            f" {self.num_words:,} words",
            f"other words    {kinds:,} ({times:,} times) begin with a new token and are split"
            f" differently, {worse:,} of them into more pieces",
        ]


def compare_words(
    tokenizer: FastTokenizer,
    extended: FastTokenizer,
    new_tokens: Sequence[str],
    ids: Sequence[int],
    words: SplitWords | None,
) -> WordChanges:
    """Encode words with two vocabularies.

    Args:
      tokenizer: has the vocabulary as it was.
      extended: has the new tokens, too.
      new_tokens: these.
      ids: their ids.
      words: of a text; None: there is none.

    Raises:
      ValueError: a new token is not encoded as itself, or a text without new tokens gets other ids.
    """
    for word, number, pieces in zip(
        new_tokens, ids, extended.encode_batch(new_tokens), strict=True
    ):
        if pieces != [number]:
            shown = " ".join(extended.vocabulary.tokens[piece] for piece in pieces)
            raise ValueError(f"{word!r} cannot be a token: it would be encoded as {shown!r}")
    counts = words.counts if words else {}
    texts = [join_word(tokenizer.vocabulary, pieces) for pieces in counts]
    after = dict(zip(counts, map(tuple, extended.encode_batch(texts)), strict=True))
    themselves = {(number,) for number in ids}
    others = [p for p, new in after.items() if new != p and new not in themselves]
    num_tokens = words.num_tokens if words else 0
    saved = sum(count * (len(pieces) - len(after[pieces])) for pieces, count in counts.items())
    return WordChanges(
        num_words=words.num_words if words else 0,
        num_tokens=(num_tokens, num_tokens - saved),
        num_others=(
            len(others),
            sum(counts[pieces] for pieces in others),
            sum(len(after[pieces]) > len(pieces) for pieces in others),
        ),
        texts=_texts_without(tokenizer, extended, _sampled(tokenizer, words, after)),
    )


def _sampled(
    tokenizer: FastTokenizer, words: SplitWords | None, after: Mapping[Pieces, Pieces]
) -> list[list[Pieces]]:
    """Return the words of some texts that have the same pieces before and after."""
    unknown = (tokenizer.unk_id,)
    kept = [
        [pieces for pieces in text if after.get(pieces, pieces) == pieces != unknown]
        for text in (words.samples if words else ())
    ]
    if any(kept):
        return [text for text in kept if text]
    tokens = tokenizer.vocabulary.tokens
    some = np.unique(np.linspace(0, len(tokens) - 1, _NUM_WORDS).astype(int)).tolist()
    encoded = tokenizer.encode_batch([tokens[number] for number in some])
    alone: list[Pieces] = [
        (number,) for number, ids in zip(some, encoded, strict=True) if ids == [number]
    ]
    return [alone[i : i + _WORDS_OF_TEXT] for i in range(0, len(alone), _WORDS_OF_TEXT)]


def _texts_without(
    tokenizer: FastTokenizer, extended: FastTokenizer, texts: list[list[Pieces]]
) -> list[list[int]]:
    """Return the ids of texts of old words, after encoding them with both."""
    vocabulary = tokenizer.vocabulary
    strings = [" ".join(join_word(vocabulary, word) for word in text) for text in texts]
    both = zip(
        strings, tokenizer.encode_batch(strings), extended.encode_batch(strings), strict=True
    )
    result = []
    for text, old, new in both:
        if old != new:
            raise ValueError(f"the text {text[:80]!r} has no new token, but gets other ids")
        result.append([vocabulary.cls_id, *old[:_MOST_TOKENS], vocabulary.sep_id])
    return result
