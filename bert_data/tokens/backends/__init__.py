"""Libraries that run the tokenizer of a file.

backend.py       the contract: texts to arrays of ids
reference.py     tokenizers and sentencepiece, which define their files: others must equal them
fastokens.py     byte-level BPE, fast
choosing.py      whether fastokens is exact for a file, and texts that test it

WordPiece with BERT's rules needs no library: `tokens.tokenizer` is the fastest for it.
"""

AUTO = "auto"
WORDPIECE, FASTOKENS = "wordpiece", "fastokens"
SENTENCEPIECE, TOKENIZERS = "sentencepiece", "tokenizers"
"""WORDPIECE is our own tokenizer; the others are named like their libraries."""

NAMES = (WORDPIECE, FASTOKENS, SENTENCEPIECE, TOKENIZERS)
EXTRA = "bpe"
