"""The definition of instances, over corpora of ids: what the kernels are compared with."""

import functools
import random
from collections import Counter
from collections.abc import Sequence

from bert_data.objectives.definition import create_instances_from_documents
from bert_data.objectives.making import InstanceConfig
from bert_data.objectives.masking import CLS, SEP
from bert_data.objectives.rows import Instance
from bert_data.tokens.vocabulary import Vocabulary

Document = list[list[int]]


class OfText(str):
    """A token of a document: one of these at a predicted position was kept.

    It has its id with it, since a vocabulary may list a token twice. No tokenizer makes [CLS] or
    [SEP] of a text; in a store they are tokens like others, and have another name here.
    """

    def __new__(cls, number: int, vocabulary: Vocabulary) -> "OfText":
        name = vocabulary.tokens[number]
        token = super().__new__(cls, f"not {name}" if name in (CLS, SEP) else name)
        token.number = number
        return token


class Drawn(str):
    """A word of the vocabulary: one of these at a predicted position is a random word."""


@functools.lru_cache(4)
def drawn_from(vocabulary: Vocabulary) -> list[Drawn]:
    return [Drawn(token) for token in vocabulary.ids]


def instances_of(
    documents: Sequence[Document],
    vocabulary: Vocabulary,
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
        mask=config.define(config.random_seed),
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
