"""Masking of single tokens or whole words, each chosen by itself.

    [CLS] the un ##afford ##able cat [SEP]      masked_lm_prob 0.3: 2 to predict
      -->  [CLS] the un [MASK] ##able dog [SEP]    positions 3 5    labels ##afford cat

This is BERT's rule (Devlin et al. 2018, arXiv 1810.04805, section 3.1) as google-research/bert has
it in create_masked_lm_predictions.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.objectives.masking import (
    CLS,
    GOOGLES_SHOWN,
    MASK,
    SEP,
    MaskedLmInstance,
    Masking,
    MaskingRule,
    MaskingScratch,
    Shown,
    list_candidates,
    show,
)
from bert_data.tokens.vocabulary_file import CONTINUATION


def create_masked_lm_predictions(
    tokens: Sequence[str],
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
    *,
    do_whole_word_mask: bool = False,
    shown: Shown = GOOGLES_SHOWN,
) -> tuple[list[str], list[int], list[str]]:
    """Choose the tokens to predict, and what is shown in their place.

    Words, or single tokens, are taken in random order while they fit the number to predict. Of
    these tokens, 80% become [MASK], 10% stay, and 10% become a random word of the vocabulary.

    Args:
      tokens: of an instance; [CLS] and [SEP] are never predicted.
      masked_lm_prob: share of them to predict, in [0, 1]; at least one.
      max_predictions_per_seq: most tokens to predict.
      vocab_words: the random words.
      rng: source of all random numbers.
      do_whole_word_mask: choose all pieces of a word together; a piece that begins with "##"
        belongs to the token before it.
      shown: other shares than these.

    Returns:
      The tokens shown, the ascending positions of those to predict, and the original tokens there.
    """
    words = list_words(tokens, do_whole_word_mask=do_whole_word_mask)
    rng.shuffle(words)
    num_to_predict = min(max_predictions_per_seq, max(1, round(len(tokens) * masked_lm_prob)))
    changed = list(tokens)
    predictions: list[MaskedLmInstance] = []
    for word in words:
        if len(predictions) + len(word) > num_to_predict:
            continue
        for index in word:
            predictions.append(MaskedLmInstance(index, tokens[index]))
            changed[index] = draw_shown(tokens[index], vocab_words, rng, shown)
    return as_results(changed, predictions)


def list_words(tokens: Sequence[str], *, do_whole_word_mask: bool) -> list[list[int]]:
    """Return the positions of each word, or of each token, without [CLS] and [SEP]."""
    words: list[list[int]] = []
    for index, token in enumerate(tokens):
        if token in (CLS, SEP):
            continue
        if do_whole_word_mask and words and token.startswith(CONTINUATION):
            words[-1].append(index)
        else:
            words.append([index])
    return words


def draw_shown(token: str, vocab_words: Sequence[str], rng: random.Random, shown: Shown) -> str:
    """Draw what is shown in place of a token."""
    if rng.random() < shown.mask:
        return MASK
    if rng.random() < shown.keep_of_rest:
        return token
    return vocab_words[rng.randint(0, len(vocab_words) - 1)]


def as_results(
    changed: list[str], predictions: list[MaskedLmInstance]
) -> tuple[list[str], list[int], list[str]]:
    """Return what `create_masked_lm_predictions` does."""
    predictions.sort()
    return changed, [each.index for each in predictions], [each.label for each in predictions]


@inner
def mask_tokens(
    source: Any,
    state: Scalar,
    shuffle: Any,
    next_candidate: Any,
    draw_of_three: Any,
    draw_below: Any,
    num_tokens: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose the predictions of one instance, and what is shown in place of each.

    A candidate with more tokens than remain to be predicted is skipped.

    Args:
      source, state, shuffle, next_candidate, draw_of_three, draw_below: the random numbers, see
        `masking`.
      num_tokens: of the instance, without [CLS] and [SEP].
      num_to_predict: most tokens to predict.
      rule: MaskingRule.
      scratch: shown[t] becomes the id that is shown in place of token t, or KEPT if that is the
        token itself, and stays NOT_PREDICTED elsewhere.
      counts: int64[3 or more], added to: masked, kept and replaced tokens.

    Returns:
      (number of predictions, state of the stream).
    """
    order, starts = scratch.order, scratch.starts
    num_candidates = list_candidates(num_tokens, rule, scratch)
    state = shuffle(source, state, order, num_candidates)
    num_chosen = np.int64(0)
    for place in range(num_candidates):
        if num_chosen >= num_to_predict:
            break
        candidate, state = next_candidate(source, state, order, place, num_candidates)
        start, stop = np.int64(starts[candidate]), np.int64(starts[candidate + 1])
        if num_chosen + stop - start > num_to_predict:
            continue
        num_chosen += stop - start
        for t in range(start, stop):
            state = show(source, state, draw_of_three, draw_below, t, rule, scratch.shown, counts)
    return num_chosen, state


def _sizes_of(max_ngram: int, favor_shorter_ngrams: bool) -> NDArray[np.float64]:
    del max_ngram, favor_shorter_ngrams
    return np.ones(1)


TOKENS = Masking(name="tokens", code=0, define=create_masked_lm_predictions, sizes_of=_sizes_of)
