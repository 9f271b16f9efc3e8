"""Libraries that run the tokenizer of a file: one contract, one module for each of them.

backend.py        the contract: texts to arrays of ids; names.py
rules.py          what a tokenizer.json asks for, and which of it has been found exact where
fastokens.py      byte-level BPE
gigatoken.py      BPE on whole words marked with "▁", with byte fallback
sentencepiece.py  .model files
tokenizers.py     everything else, and what all others must equal
choosing.py       the fastest that is exact for a file; probing.py: texts that test it

WordPiece with BERT's rules needs no library: `tokens.tokenizer` is the fastest for it.
"""
