"""The names of backends, as flags, configurations and the notes of stores have them."""

AUTO = "auto"
WORDPIECE, FASTOKENS, GIGATOKEN, SENTENCEPIECE, TOKENIZERS = NAMES = (
    "wordpiece",
    "fastokens",
    "gigatoken",
    "sentencepiece",
    "tokenizers",
)
"""WORDPIECE is our own tokenizer; the others are named like their libraries."""

EXTRA = "bpe"
