"""Text to tokens: tokenizers, vocabularies, and the token store.

definition.py       the tokenizer in plain Python; vocabulary_file.py
tokenizer.py        the fast one, equal to it: block_run.py (a pass over text), blocks.py, chunks.py
                    and wordpiece.py (its kernels), bert_rules.py and codepoints.py (what they do at
                    a character), token_block.py
tokenizer_file.py   any tokenizer, from a vocabulary, a tokenizer.json, .model or .tiktoken file:
                    tiktoken_ranks.py, library_tokenizer.py; backends/ run them
vocabulary.py       a checked vocabulary; word_bits.py: its words; special_tokens.py: their roles
vocabulary_training.py  trains WordPiece, tokenizer_training.py BPE and Unigram
store.py            the token store: its format, and reading; store_writer.py, store_notes.py
store_making.py     text to stores: filling.py; merging.py and verifying.py: stores that exist
store_names.py      "web@7" and patterns to stores
"""
