"""Stands in for the programs with which token_stores.py compares: JSON Lines to .bin and .idx.

    python benchmarks/preprocess_peer.py TEXT.jsonl TOKENIZER.json PREFIX one|batch

one: one document at a time through `tokenizers`' encode, its ids written at once, as Megatron-LM's
preprocess_data and NeMo Curator's writer do it (each through transformers' tokenizer, which calls
the same library and takes longer). batch: 1,000 documents at a time through encode_batch_fast, the
library's fastest call. Rewritten, without any check.
"""

import itertools
import json
import os
import struct
import sys
from collections.abc import Iterator

import numpy as np
from tokenizers import Tokenizer

_BATCH = 1000


def encode(path: str, tokenizer: Tokenizer, how: str) -> Iterator[list[int]]:
    """The ids of each document."""
    with open(path, encoding="utf-8") as file:
        texts = (json.loads(line)["text"] for line in file)
        if how == "one":
            for text in texts:
                yield tokenizer.encode(text, add_special_tokens=False).ids
            return
        while batch := list(itertools.islice(texts, _BATCH)):
            for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                yield encoding.ids


def main(text: str, tokenizer_file: str, prefix: str, how: str) -> None:
    """Writes a store of documents, uint16."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread, as ours
    lengths = []
    with open(f"{prefix}.bin", "wb") as out:
        for ids in encode(text, Tokenizer.from_file(tokenizer_file), how):
            out.write(np.array(ids, np.uint16).tobytes())
            lengths.append(len(ids))
    sizes = np.array(lengths, np.int32)
    offsets = np.concatenate([[0], np.cumsum(2 * sizes.astype(np.int64))[:-1]])
    with open(f"{prefix}.idx", "wb") as index:
        index.write(struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, 8, len(sizes), len(sizes) + 1))
        for array in (sizes, offsets.astype(np.int64), np.arange(len(sizes) + 1, dtype=np.int64)):
            index.write(array.tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
