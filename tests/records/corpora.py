"""Corpora of ids for tests: random ones, and stores and vocabularies made of lists."""

import os
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from bert_data.tokens.store import TokenStore, open_store, token_dtype
from bert_data.tokens.store_writer import StoreWriter
from bert_data.tokens.vocabulary import TokenTable, make_vocabulary
from tests.records.oracle import Document

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Words, continuations, and two words and a continuation that stand twice: the first lines of these
# are ids that no text has and that no random word is, and what is drawn is a place among the keys.
TOKENS = (
    *SPECIAL,
    "twin",
    "one",
    "##ab",
    "##cd",
    "two",
    "twin",
    "##ef",
    "##ab",
    "three",
    "one",
    "end",
)


def vocabulary_of(tokens: Sequence[str]) -> TokenTable:
    """A vocabulary as if read from a file with these lines."""
    ids = {token: number for number, token in enumerate(tokens)}
    return make_vocabulary("vocab.txt", "0" * 64, list(tokens), ids)


def large_vocabulary() -> TokenTable:
    """One whose ids do not fit 16 bits."""
    return vocabulary_of([*TOKENS, *(f"word{i}" for i in range(1 << 16))])


def store_of(
    documents: Sequence[Document], vocabulary: TokenTable, folder: str | os.PathLike[str]
) -> TokenStore:
    """The documents as a token store in a folder."""
    prefix = os.path.join(folder, "store")
    dtype = token_dtype(vocabulary.size)
    with StoreWriter(prefix, dtype) as writer:
        for document in documents:
            ids = [token for sentence in document for token in sentence]
            lengths = [len(sentence) for sentence in document]
            writer.add(
                np.array(ids, dtype),
                np.array(lengths, np.int32),
                np.array([len(lengths)], np.int64),
            )
    return open_store(prefix)


def documents(
    vocabulary: TokenTable, *, max_documents: int = 6, max_sentences: int = 5, max_tokens: int = 30
) -> st.SearchStrategy[list[Document]]:
    """Random corpora of the vocabulary's ids."""
    ids = st.sampled_from(
        sorted(vocabulary.ids.values())[-200:] + list(vocabulary.ids.values())[:5]
    )
    sentence = st.lists(ids, min_size=1, max_size=max_tokens)
    document = st.lists(sentence, min_size=1, max_size=max_sentences)
    return st.lists(document, min_size=1, max_size=max_documents)
