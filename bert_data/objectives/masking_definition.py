"""Masked LM as BERT defines it: the readable definition, in plain Python over a list of tokens.

    [CLS] the un ##afford ##able cat [SEP]      masked_lm_prob 0.3: 2 to predict
      -->  [CLS] the un [MASK] ##able dog [SEP]    positions 3 5    labels ##afford cat

The name, arguments and results are those of google-research/bert's create_pretraining_data, plus a
keyword where the reference reads the flag do_whole_word_mask.
"""

import collections
import random
from collections.abc import Sequence

from bert_data.tokens.vocabulary_file import CONTINUATION

CLS, SEP, MASK = "[CLS]", "[SEP]", "[MASK]"


MaskedLmInstance = collections.namedtuple("MaskedLmInstance", ["index", "label"])
"""A token to predict: its position and itself."""


def create_masked_lm_predictions(
    tokens: Sequence[str],
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
    *,
    do_whole_word_mask: bool = False,
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

    Returns:
      The tokens shown, the ascending positions of those to predict, and the original tokens there.
    """
    words: list[list[int]] = []
    for index, token in enumerate(tokens):
        if token in (CLS, SEP):
            continue
        if do_whole_word_mask and words and token.startswith(CONTINUATION):
            words[-1].append(index)
        else:
            words.append([index])
    rng.shuffle(words)
    num_to_predict = min(max_predictions_per_seq, max(1, round(len(tokens) * masked_lm_prob)))
    shown = list(tokens)
    predictions: list[MaskedLmInstance] = []
    for word in words:
        if len(predictions) + len(word) > num_to_predict:
            continue
        for index in word:
            predictions.append(MaskedLmInstance(index, tokens[index]))
            if rng.random() < 0.8:
                shown[index] = MASK
            elif rng.random() >= 0.5:
                shown[index] = vocab_words[rng.randint(0, len(vocab_words) - 1)]
    predictions.sort()
    return shown, [each.index for each in predictions], [each.label for each in predictions]
