"""Ids to tokens, and tokens to words.

[2 7 8 3]  --tokens_of-->  [CLS] un ##able [SEP]  --join_pieces-->  [CLS] unable [SEP]
"""

from collections.abc import Iterable, Sequence

from bert_data.tokens.vocabulary import SPECIAL
from bert_data.tokens.vocabulary_file import CONTINUATION


def tokens_of(tokens: Sequence[str], ids: Iterable[int]) -> list[str]:
    """Return the tokens of ids.

    Args:
      tokens: the token of each id.
      ids: integers.

    Raises:
      ValueError: an id has no token.
    """
    size = len(tokens)
    decoded = []
    for number in ids:
        if not 0 <= number < size:
            raise ValueError(f"{number} is not an id of the vocabulary, which has 0 to {size - 1}")
        decoded.append(tokens[number])
    return decoded


def join_pieces(tokens: Iterable[str], *, skip_special_tokens: bool) -> list[str]:
    """Join each piece that begins with "##" to the piece before it; special tokens are words.

    Args:
      tokens: pieces of words, and special tokens; a continuation that follows no piece stays as
        it is.
      skip_special_tokens: leave out [PAD], [UNK], [CLS], [SEP] and [MASK].
    """
    words: list[str] = []
    follows_piece = False
    for token in tokens:
        if token in SPECIAL:
            follows_piece = False
            if not skip_special_tokens:
                words.append(token)
        elif follows_piece and token.startswith(CONTINUATION):
            words[-1] += token.removeprefix(CONTINUATION)
        else:
            words.append(token)
            follows_piece = True
    return words
