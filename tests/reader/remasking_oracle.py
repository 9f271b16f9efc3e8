"""Masks drawn anew, in plain Python: what `bert_data.reader.remasking` must do."""

import dataclasses

from bert_data.objectives.masking import SPANS, TOKENS, MaskingRule
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
    if rule.code == SPANS:
        mask_spans(masked, words, rule, key, num_to_mask)
    else:
        mask_words(masked, words, rule, key, num_to_mask)
    masked.positions.sort()
    masked.labels = [tokens[t] for t in masked.positions]
    return masked


def draw_size(key: int, rule: MaskingRule) -> tuple[int, int]:
    if rule.code == TOKENS:
        return key, 1
    key, unit = python_unit(key)
    return key, 1 + int((rule.sizes <= unit).sum())


def show(masked: Masked, t: int, rule: MaskingRule, key: int, unit: float) -> int:
    if unit < 0.8:
        masked.ids[t] = rule.mask_id
    if unit >= 0.9:
        key, word = python_below(key, len(rule.word_ids))
        masked.ids[t] = int(rule.word_ids[word])
    return key


def mask_words(
    masked: Masked, words: list[list[int]], rule: MaskingRule, key: int, num_to_mask: int
) -> None:
    """Masks words, or n-grams of words."""
    order = list(range(len(words)))
    for i in range(len(order)):
        if len(masked.positions) >= num_to_mask:
            break
        key, j = python_below(key, len(order) - i)
        order[i], order[i + j] = order[i + j], order[i]
        key, size = draw_size(key, rule)
        for n in range(size, 0, -1):
            chosen = [t for word in words[order[i] : order[i] + n] for t in word]
            if len(masked.positions) + len(chosen) <= num_to_mask:
                break
        else:
            continue
        if set(chosen) & set(masked.positions):
            continue
        for t in chosen:
            masked.positions.append(t)
            key, unit = python_unit(key)
            key = show(masked, t, rule, key, unit)


def mask_spans(
    masked: Masked, words: list[list[int]], rule: MaskingRule, key: int, num_to_mask: int
) -> None:
    """Masks spans of words, which end with their segment."""
    ordinary = [t for word in words for t in word]
    begins = {word[0] for word in words} | {t for t in ordinary if t - 1 not in ordinary}
    order = list(ordinary)
    chosen: set[int] = set()
    for i in range(len(order)):
        if len(chosen) >= num_to_mask:
            break
        key, j = python_below(key, len(order) - i)
        order[i], order[i + j] = order[i + j], order[i]
        t = order[i]
        if t in chosen:
            continue
        key, num_words = draw_size(key, rule)
        t = max(begin for begin in begins if begin <= t)
        while t in ordinary and len(chosen) < num_to_mask:
            num_words -= t in begins
            if num_words < 0:
                break
            chosen.add(t)
            t += 1
    masked.positions = sorted(chosen)
    unit = 0.0
    for t in masked.positions:
        if t - 1 not in chosen:
            key, unit = python_unit(key)
        key = show(masked, t, rule, key, unit)
