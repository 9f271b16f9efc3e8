"""The contents of a token store."""

from pathlib import Path

import numpy as np

from bert_data.tokens.store import open_store


def sequences_of(prefix: Path | str) -> list[list[list[int]]]:
    """Documents as lists of sequences of ids."""
    store = open_store(str(prefix))
    ends = np.cumsum(store.lengths)
    parts = [store.ids[e - n : e].tolist() for e, n in zip(ends, store.lengths, strict=True)]
    return [parts[a:b] for a, b in zip(store.documents, store.documents[1:], strict=False)]
