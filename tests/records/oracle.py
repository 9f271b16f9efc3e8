"""The definition of instances, over corpora of ids: what the kernels are compared with."""

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from bert_data.records.definition import (
    CLS,
    MASK,
    SEP,
    MaskedLmInstance,
    as_results,
    create_instances_from_documents,
    create_masked_lm_predictions,
    draw_shown,
    list_words,
)
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.instances.rows import Instance
from bert_data.records.masking.making_rule import numpy_random
from bert_data.records.masking.ngrams import ngram_probabilities
from bert_data.records.masking.rule import GOOGLES_SHOWN
from bert_data.records.masking.spans import span_probabilities
from bert_data.tokens.definition import CONTINUATION
from bert_data.tokens.vocabulary import TokenTable

Document = list[list[int]]


class OfText(str):
    """A token of a document: one of these at a predicted position was kept.

    It has its id with it, since a vocabulary may list a token twice.
    """

    def __new__(cls, number: int, vocabulary: TokenTable) -> "OfText":
        token = super().__new__(cls, vocabulary.tokens[number])
        token.number = number
        return token


class Drawn(str):
    """A word of the vocabulary: one of these at a predicted position is a random word."""


@functools.lru_cache(4)
def drawn_from(vocabulary: TokenTable) -> list[Drawn]:
    return [Drawn(token) for token in vocabulary.ids]


def create_ngram_predictions(
    tokens, masked_lm_prob, max_predictions_per_seq, vocab_words, rng, *,
    do_whole_word_mask=False, max_ngram=3, favor_shorter_ngrams=True, special=(CLS, SEP), numpy_rng,
):  # fmt: skip
    """N-grams at each word.

    At each word, or token, in random order, an n-gram begins with n drawn anew, even where it will
    be left out. It is made shorter until it fits the number to predict, and left out if it does not
    fit or a token of it is chosen already. A rate of 0 predicts nothing. At last the reference
    shuffles the n-grams again, for a task that is off, which moves the random numbers of the
    instances to come.
    """
    changed = list(tokens)
    if masked_lm_prob == 0:
        return changed, [], []
    words = list_words(tokens, special, do_whole_word_mask=do_whole_word_mask)
    starts = list(range(len(words)))
    rng.shuffle(starts)
    num_to_predict = min(max_predictions_per_seq, max(1, round(len(tokens) * masked_lm_prob)))
    probabilities = ngram_probabilities(max_ngram, favor_shorter_ngrams)
    predictions: dict[int, MaskedLmInstance] = {}
    for start in starts:
        if len(predictions) >= num_to_predict:
            break
        drawn = int(numpy_rng.choice(np.arange(1, max_ngram + 1), p=probabilities))
        ngrams = (
            [i for word in words[start : start + n] for i in word] for n in range(drawn, 0, -1)
        )
        room = num_to_predict - len(predictions)
        ngram: list[int] = next((each for each in ngrams if len(each) <= room), [])
        if any(index in predictions for index in ngram):
            continue
        for index in ngram:
            predictions[index] = MaskedLmInstance(index, tokens[index])
            changed[index] = draw_shown(tokens[index], vocab_words, rng, GOOGLES_SHOWN)
    rng.shuffle(starts)
    return as_results(changed, list(predictions.values()))


def create_span_predictions(
    tokens, masked_lm_prob, max_predictions_per_seq, vocab_words, rng, *, special=(CLS, SEP),
    numpy_rng,
):  # fmt: skip
    """Spans of words.

    At each token in random order that is not chosen already, a span begins with its word and goes
    on for a number of words that is drawn, over tokens that are chosen already, too, up to the next
    special token or until there are as many tokens as are to be predicted. One choice of [MASK],
    kept and random words is made for chosen tokens side by side.
    """
    order = [index for index, token in enumerate(tokens) if token not in special]
    begins = {
        i for i in order if tokens[i - 1] in special or not tokens[i].startswith(CONTINUATION)
    }
    rng.shuffle(order)
    num_to_predict = min(max_predictions_per_seq, max(1, round(len(tokens) * masked_lm_prob)))
    chosen: set[int] = set()
    for anchor in order:
        if len(chosen) >= num_to_predict:
            break
        if anchor in chosen:
            continue
        words = int(numpy_rng.choice(np.arange(1, 11), p=span_probabilities()))
        index = next(i for i in range(anchor, -1, -1) if i in begins)
        while tokens[index] not in special and len(chosen) < num_to_predict:
            words -= index in begins
            if words < 0:
                break
            chosen.add(index)
            index += 1
    changed = list(tokens)
    for _, span in itertools.groupby(enumerate(sorted(chosen)), lambda item: item[1] - item[0]):
        is_masked = rng.random() < GOOGLES_SHOWN.mask
        is_kept = not is_masked and rng.random() < GOOGLES_SHOWN.keep_of_rest
        for _, index in span:
            if is_masked:
                changed[index] = MASK
            elif not is_kept:
                changed[index] = vocab_words[rng.randint(0, len(vocab_words) - 1)]
    return as_results(changed, [MaskedLmInstance(index, tokens[index]) for index in chosen])


def masking_of(
    config: InstanceConfig, vocabulary: TokenTable
) -> Callable[..., tuple[list[str], list[int], list[str]]]:
    """The masking rule of a configuration in plain Python."""
    own = {"special": {vocabulary.tokens[number] for number in vocabulary.special_ids}}
    if config.masking != "spans":
        own["do_whole_word_mask"] = config.do_whole_word_mask
    if config.masking == "tokens":
        return functools.partial(create_masked_lm_predictions, **own)
    own["numpy_rng"] = numpy_random(config.random_seed)
    if config.masking == "spans":
        return functools.partial(create_span_predictions, **own)
    return functools.partial(
        create_ngram_predictions,
        **own,
        max_ngram=config.max_ngram,
        favor_shorter_ngrams=config.favor_shorter_ngrams,
    )


def instances_of(
    documents: Sequence[Document],
    vocabulary: TokenTable,
    config: InstanceConfig,
    tally: Counter[type] | None = None,
) -> list[Instance]:
    """All instances in the order of the records; `tally` counts the types of the tokens shown."""
    ids = vocabulary.ids

    def id_of(token: str) -> int:
        return token.number if isinstance(token, OfText) else ids[token]

    instances = create_instances_from_documents(
        [[[OfText(i, vocabulary) for i in s] for s in document] for document in documents],
        config.max_seq_length,
        config.dupe_factor,
        config.short_seq_prob,
        config.masked_lm_prob,
        config.max_predictions_per_seq,
        drawn_from(vocabulary),
        random.Random(config.random_seed),
        mask=masking_of(config, vocabulary),
        objective=config.objective,
    )
    if tally is not None:
        for instance in instances:
            tally.update(type(instance.tokens[i]) for i in instance.masked_lm_positions)
    return [
        Instance(
            ids=tuple(map(id_of, instance.tokens)),
            segment_ids=tuple(instance.segment_ids),
            masked_positions=tuple(instance.masked_lm_positions),
            masked_ids=tuple(map(id_of, instance.masked_lm_labels)),
            label=instance.is_random_next,
        )
        for instance in instances
    ]
