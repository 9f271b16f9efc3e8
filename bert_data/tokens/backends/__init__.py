"""Libraries that run the tokenizer of a file: one contract, one module for each of them.

backend.py        the contract: texts to arrays of ids, and which files it is exact for
fastokens.py      byte-level BPE
gigatoken.py      BPE on whole words marked with "▁", with byte fallback
sentencepiece.py  .model files
tokenizers.py     everything else, and what all others must equal
choosing.py       the fastest that is exact for a file; probing.py: texts that test it
verdicts.py       what has been found for a file is kept

WordPiece with BERT's rules needs no library: `tokens.tokenizer` is the fastest for it.
"""

AUTO = "auto"
WORDPIECE, SENTENCEPIECE, TOKENIZERS = "wordpiece", "sentencepiece", "tokenizers"
"""WORDPIECE is our own tokenizer; the others are named like their modules and libraries."""

FASTER = ("fastokens", "gigatoken")
"""Modules of libraries that are faster than `tokenizers`, the first choice first."""

NAMES = (WORDPIECE, *FASTER, SENTENCEPIECE, TOKENIZERS)
EXTRA = "bpe"
