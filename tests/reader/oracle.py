"""Draws from keys, and the masks of sequences, in plain Python: what the kernels must give."""

from bert_data.records.masking.rule import SPANS_CODE, TOKENS_CODE, MaskingRule

_ALL = 2**64 - 1


def bits(key: int) -> tuple[int, int]:
    """Return (the next key, 64 random bits)."""
    key = (key + 0x9E3779B97F4A7C15) & _ALL
    z = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 & _ALL
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _ALL
    return key, z ^ z >> 31


def below(key: int, limit: int) -> tuple[int, int]:
    """Return (the next key, an integer in [0, limit)); draws that would be uneven are repeated."""
    while True:
        key, drawn = bits(key)
        value, low = divmod((drawn >> 32) * limit, 2**32)
        if low >= 2**32 % limit:
            return key, value


def unit(key: int) -> tuple[int, float]:
    """Return (the next key, a number in [0, 1))."""
    key, drawn = bits(key)
    return key, (drawn >> 11) / 2**53


def shuffle(items: list[int], key: int) -> int:
    """Shuffle a list in place, as Fisher and Yates do; return the next key."""
    for i in reversed(range(1, len(items))):
        key, j = below(key, i + 1)
        items[i], items[j] = items[j], items[i]
    return key


def mask(tokens: list[int], rule: MaskingRule, key: int) -> tuple[list[int], list[int], list[int]]:
    """Mask a sequence: (what is shown, the positions to predict, the tokens there).

    Args:
      tokens: with special ones; those are not predicted.
      key: of the sequence.
    """
    words: list[list[int]] = []
    previous = -1
    for t, token in enumerate(tokens):
        if rule.special[token : token + 1].any():
            continue
        goes_on = rule.word_bits.size and int(rule.word_bits[previous]) >> 8
        if words and goes_on and goes_on & int(rule.word_bits[token]) & 0xFF:
            words[-1].append(t)
        else:
            words.append([t])
        previous = token
    shown = list(tokens)
    count = int(rule.num_to_predict[len(tokens)]) if tokens else 0
    choose = _mask_spans if rule.code == SPANS_CODE else _mask_words
    positions = sorted(choose(shown, words, rule, key, count))
    return shown, positions, [tokens[t] for t in positions]


def _draw_size(key: int, rule: MaskingRule) -> tuple[int, int]:
    if rule.code == TOKENS_CODE:
        return key, 1
    key, drawn = unit(key)
    return key, 1 + int((rule.sizes <= drawn).sum())


def _show(shown: list[int], t: int, rule: MaskingRule, key: int, drawn: float) -> int:
    """Replace a token by [MASK], itself or a random word, as a number in [0, 1) says."""
    if drawn < rule.mask_share:
        shown[t] = rule.mask_id
    elif drawn >= rule.mask_share + (1 - rule.mask_share) * rule.keep_of_rest:
        key, word = below(key, len(rule.word_ids))
        shown[t] = int(rule.word_ids[word])
    return key


def _mask_words(
    shown: list[int], words: list[list[int]], rule: MaskingRule, key: int, count: int
) -> list[int]:
    """Choose words, or n-grams of words, in a random order; what does not fit is left out."""
    order = list(range(len(words)))
    positions: list[int] = []
    for i in range(len(order)):
        if len(positions) >= count:
            break
        key, j = below(key, len(order) - i)
        order[i], order[i + j] = order[i + j], order[i]
        key, size = _draw_size(key, rule)
        for n in range(size, 0, -1):
            chosen = [t for word in words[order[i] : order[i] + n] for t in word]
            if len(positions) + len(chosen) <= count:
                break
        else:
            continue
        if set(chosen) & set(positions):
            continue
        for t in chosen:
            positions.append(t)
            key, drawn = unit(key)
            key = _show(shown, t, rule, key, drawn)
    return positions


def _mask_spans(
    shown: list[int], words: list[list[int]], rule: MaskingRule, key: int, count: int
) -> list[int]:
    """Choose spans of words, which end with their segment, and show what is side by side alike."""
    ordinary = [t for word in words for t in word]
    begins = {word[0] for word in words} | {t for t in ordinary if t - 1 not in ordinary}
    order = list(ordinary)
    chosen: set[int] = set()
    for i in range(len(order)):
        if len(chosen) >= count:
            break
        key, j = below(key, len(order) - i)
        order[i], order[i + j] = order[i + j], order[i]
        t = order[i]
        if t in chosen:
            continue
        key, num_words = _draw_size(key, rule)
        t = max(begin for begin in begins if begin <= t)
        while t in ordinary and len(chosen) < count:
            num_words -= t in begins
            if num_words < 0:
                break
            chosen.add(t)
            t += 1
    drawn = 0.0
    for t in sorted(chosen):
        if t - 1 not in chosen:
            key, drawn = unit(key)
        key = _show(shown, t, rule, key, drawn)
    return list(chosen)
