"""Masks drawn anew, in plain Python: what `bert_data.reader.remasking` must do."""

import dataclasses

from bert_data.objectives.masking import MaskingRule
from tests.reader.splitmix_oracle import python_below, python_key, python_unit

MASKS = 3


@dataclasses.dataclass
class Masked:
    ids: list[int]
    positions: list[int]
    labels: list[int]


def mask(
    tokens: list[int],
    rule: MaskingRule,
    seed: int,
    epoch: int,
    record: int,
) -> Masked:
    """Masks a record's tokens, which stand as they were before any masks."""
    words: list[list[int]] = []
    special = (rule.cls_id, rule.sep_id)
    previous = -1
    for t, token in enumerate(tokens):
        if token in special:
            continue
        bits = rule.word_bits
        if words and bits.size and int(bits[previous]) >> 8 & int(bits[token]) & 0xFF:
            words[-1].append(t)  # also behind [SEP], as where records are made
        else:
            words.append([t])
        previous = token
    key = python_key(seed, epoch, MASKS, record)
    num_to_mask = int(rule.num_to_predict[len(tokens)]) if tokens else 0
    masked = Masked(list(tokens), [], [])
    for i in range(len(words)):
        if len(masked.positions) >= num_to_mask:
            break
        key, j = python_below(key, len(words) - i)
        words[i], words[i + j] = words[i + j], words[i]
        if len(masked.positions) + len(words[i]) > num_to_mask:
            continue
        for t in words[i]:
            masked.positions.append(t)
            key, unit = python_unit(key)
            if unit < 0.8:
                masked.ids[t] = rule.mask_id
            if unit >= 0.9:
                key, word = python_below(key, len(rule.word_ids))
                masked.ids[t] = int(rule.word_ids[word])
    masked.positions.sort()
    masked.labels = [tokens[t] for t in masked.positions]
    return masked
