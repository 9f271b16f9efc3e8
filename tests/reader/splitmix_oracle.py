"""SplitMix64 in plain Python, for the tests of what draws from it."""

MASK = 2**64 - 1


def python_bits(key):
    """SplitMix64 as its authors print it: (the state, an output)."""
    key = (key + 0x9E3779B97F4A7C15) & MASK
    z = key
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return key, z ^ (z >> 31)


def python_below(key, limit):
    """The least of 2**32 that is no multiple of the limit is thrown away: 2**32 mod limit draws."""
    while True:
        key, bits = python_bits(key)
        value, low = divmod((bits >> 32) * limit, 2**32)
        if low >= 2**32 % limit:
            return key, value


def python_key(*parts):
    """The key that these whole numbers name."""
    key = 0
    for part in parts:
        key = python_bits((key + part) & MASK)[1]
    return key


def python_unit(key):
    key, bits = python_bits(key)
    return key, (bits >> 11) / 2**53


def python_shuffle(items, key):
    """Shuffles a list in place; returns the key to go on with."""
    for i in reversed(range(1, len(items))):
        key, j = python_below(key, i + 1)
        items[i], items[j] = items[j], items[i]
    return key
