"""Instances as google-research/bert defines them, in plain Python over lists.

Nothing here is shared with the library but the dataclass of an instance, so that an equal result
means that two independent programs agree. What the reference does is numbered as in the list of its
facts: random numbers 10-13, pairs 14-17, masks 18-20, the final shuffle 21.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bert_data.objectives.making import InstanceConfig
from bert_data.objectives.rows import Instance
from bert_data.tokens.vocabulary import Vocabulary

Document = list[list[int]]


@dataclass
class Pair:
    """Two lists of ids that become [CLS] a [SEP] b [SEP]."""

    a: list[int]
    b: list[int]
    is_random_next: bool


def instances_of(
    documents: Sequence[Document],
    vocabulary: Vocabulary,
    config: InstanceConfig,
    tally: Counter[str] | None = None,
) -> list[Instance]:
    """All instances in the order of the records; `tally` counts how tokens are shown."""
    stream = random.Random(config.random_seed)
    tally = Counter() if tally is None else tally
    shuffled = list(documents)
    stream.shuffle(shuffled)
    made = []
    for _ in range(config.dupe_factor):
        for place in range(len(shuffled)):
            made += instances_of_document(shuffled, place, vocabulary, config, stream, tally)
    stream.shuffle(made)
    return made


def instances_of_document(
    documents: Sequence[Document],
    place: int,
    vocabulary: Vocabulary,
    config: InstanceConfig,
    stream: random.Random,
    tally: Counter[str],
) -> list[Instance]:
    """One pass over one document."""
    longest = config.max_seq_length - 3
    target = longest
    if stream.random() < config.short_seq_prob:
        target = stream.randint(2, longest)
    document = documents[place]
    made = []
    at = 0
    while at < len(document):
        chunk = [document[at]]
        while at + len(chunk) < len(document) and sum(map(len, chunk)) < target:
            chunk.append(document[at + len(chunk)])
        pair, num_used = split_chunk(chunk, documents, place, target, stream)
        shorten(pair, longest, stream)
        made.append(mask(pair, vocabulary, config, stream, tally))
        at += num_used
    return made


def split_chunk(
    chunk: list[list[int]],
    documents: Sequence[Document],
    place: int,
    target: int,
    stream: random.Random,
) -> tuple[Pair, int]:
    """A pair, and how many sentences of the chunk it used."""
    in_a = stream.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
    a = [token for sentence in chunk[:in_a] for token in sentence]
    if len(chunk) > 1 and stream.random() >= 0.5:
        return Pair(a, [token for sentence in chunk[in_a:] for token in sentence], False), len(
            chunk
        )
    for _ in range(10):
        other = stream.randint(0, len(documents) - 1)
        if other != place:
            break
    start = stream.randint(0, len(documents[other]) - 1)
    b: list[int] = []
    for sentence in documents[other][start:]:
        b += sentence
        if len(b) >= target - len(a):
            break
    return Pair(a, b, True), in_a


def shorten(pair: Pair, longest: int, stream: random.Random) -> None:
    """Drops tokens of the longer side, front or back by a coin, until the pair fits."""
    while len(pair.a) + len(pair.b) > longest:
        longer = pair.a if len(pair.a) > len(pair.b) else pair.b
        del longer[0 if stream.random() < 0.5 else -1]


def mask(
    pair: Pair,
    vocabulary: Vocabulary,
    config: InstanceConfig,
    stream: random.Random,
    tally: Counter[str],
) -> Instance:
    """Chooses the tokens to predict and what stands in their place."""
    tokens = [vocabulary.cls_id, *pair.a, vocabulary.sep_id, *pair.b, vocabulary.sep_id]
    special = {0, len(pair.a) + 1, len(tokens) - 1}
    words: list[list[int]] = []
    for position, token in enumerate(tokens):
        if position in special:
            continue
        if config.do_whole_word_mask and words and vocabulary.tokens[token].startswith("##"):
            words[-1].append(position)
        else:
            words.append([position])
    stream.shuffle(words)
    wanted = max(1, round(len(tokens) * config.masked_lm_prob))
    wanted = min(wanted, config.max_predictions_per_seq)
    shown = list(tokens)
    chosen: list[int] = []
    keys = list(vocabulary.ids)
    for word in words:
        if len(chosen) + len(word) > wanted:
            continue
        for position in word:
            chosen.append(position)
            if stream.random() < 0.8:
                tally["masked"] += 1
                shown[position] = vocabulary.mask_id
            elif stream.random() < 0.5:
                tally["kept"] += 1
            else:
                tally["replaced"] += 1
                shown[position] = vocabulary.ids[keys[stream.randint(0, len(keys) - 1)]]
    chosen.sort()
    return Instance(
        ids=tuple(shown),
        segment_ids=(0,) * (len(pair.a) + 2) + (1,) * (len(pair.b) + 1),
        masked_positions=tuple(chosen),
        masked_ids=tuple(tokens[position] for position in chosen),
        is_random_next=pair.is_random_next,
    )
