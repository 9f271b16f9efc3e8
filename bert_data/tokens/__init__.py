"""Text to tokens: tokenizers, vocabularies, and the token store.

definition.py       the tokenizer in plain Python
tokenizer.py        the fast one, equal to it: block_run.py (a pass over text), block_kernel.py and
                    wordpiece.py (its kernels), bert_rules.py (what they do at a character),
                    offsets.py (where tokens are in the text)
segmenting.py       what a word of the text is, for scripts without spaces
tokenizer_file.py   any tokenizer, from a vocabulary, a tokenizer.json, .model or .tiktoken file:
                    tokenizer_json.py, tiktoken_ranks.py, library_tokenizer.py; backends.py and
                    fastokens_backend.py run them
vocabulary.py       a checked vocabulary; word_bits.py: its words
vocabulary_training.py  trains WordPiece, BPE (learning_merges.py) and Unigram on word_counts.py
store.py            the token store: its format, and reading; store_writer.py
store_files.py      names of stores ("web@7", patterns), and the notes of what made them
provenance.py       where documents came from, in Parquet beside a store
store_making.py     text to stores: filling.py; merging.py and verifying.py: stores that exist
"""
