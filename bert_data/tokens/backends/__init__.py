"""Libraries that run the tokenizer of a file: one contract, one module for each faster library.

backend.py       the contract: texts to arrays of ids, and which files it is exact for
reference.py     tokenizers and sentencepiece, which define their files: others must equal them
fastokens.py     byte-level BPE; gigatoken.py: BPE on words marked with "▁", with byte fallback
choosing.py      the fastest that is exact for a file, and texts that test it

WordPiece with BERT's rules needs no library: `tokens.tokenizer` is the fastest for it.
"""

AUTO = "auto"
WORDPIECE, SENTENCEPIECE, TOKENIZERS = "wordpiece", "sentencepiece", "tokenizers"
"""WORDPIECE is our own tokenizer; the others are named like their libraries."""

FASTER = ("fastokens", "gigatoken")
"""Libraries, and their modules here, that are faster than `tokenizers`; the first choice first."""

NAMES = (WORDPIECE, *FASTER, SENTENCEPIECE, TOKENIZERS)
EXTRA = "bpe"
