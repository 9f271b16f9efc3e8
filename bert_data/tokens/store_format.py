"""The bytes of a token store: Megatron-LM's indexed dataset, version 1.

    PREFIX.bin   ids of sequence 0 | ids of sequence 1 | ...                      little-endian
    PREFIX.idx   header | lengths int32[S] | byte offsets int64[S] | documents int64[D + 1]
                 | modes int8[S], in multimodal stores only; only the size shows it

A sequence is a document or a sentence; document d is the sequences documents[d] to
documents[d + 1] - 1.
"""

import dataclasses
import struct

import numpy as np

from bert_data.text.documents import DOCUMENT, LEVELS, SENTENCE

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
HEADER = struct.Struct("<9sQBQQ")  # magic, version, dtype code, S, D + 1
DTYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
CODES = {np.dtype(name): code for code, name in DTYPES.items()}
MAX_LENGTH = 2**31 - 1
"""The most tokens of a sequence, as lengths are int32."""

CURATOR, MEGATRON = DTYPE_RULES = ("curator", "megatron")
DROP = "drop"
EMPTY_DOCUMENTS = (MEGATRON, CURATOR, DROP)
"""What a document without tokens becomes: a repeated boundary and no sequence; a sequence of length
0, or of one end-of-document token; nothing at all, as in google-research/bert."""

_UINT16_BELOW = {CURATOR: (1 << 16) + 1, MEGATRON: 65500}


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreShape:
    """What a sequence is, and how documents end.

    Attributes:
      level: one of `LEVELS`.
      eod_id: of the token at the end of each document, or None; at sentence level it ends the last
        sentence.
      empty_documents: one of `EMPTY_DOCUMENTS`.
    """

    level: str = SENTENCE
    eod_id: int | None = None
    empty_documents: str = DROP

    def __post_init__(self) -> None:
        for field, allowed in (("level", LEVELS), ("empty_documents", EMPTY_DOCUMENTS)):
            if getattr(self, field) not in allowed:
                raise ValueError(
                    f"{field} is {getattr(self, field)!r}; one of {', '.join(allowed)} is allowed"
                )

    @property
    def is_plain(self) -> bool:
        """Whether sequences are the sentences, unchanged."""
        return (self.level, self.eod_id) == (SENTENCE, None) and self.empty_documents != CURATOR

    @property
    def joins_sentences(self) -> bool:
        """Whether all sentences of a document are one sequence."""
        return self.level == DOCUMENT


def token_dtype(vocab_size: int, rule: str = CURATOR) -> np.dtype:
    """Return the dtype of ids.

    Args:
      vocab_size: number of tokens, including added ones.
      rule: "curator": uint16 for up to 65,536 tokens (NeMo Curator), "megatron": for fewer than
        65,500 (Megatron-LM's preprocess_data); otherwise int32.
    """
    if rule not in DTYPE_RULES:
        raise ValueError(f"dtype_rule is {rule!r}; one of {', '.join(DTYPE_RULES)} is allowed")
    return np.dtype("<u2") if vocab_size < _UINT16_BELOW[rule] else np.dtype("<i4")
