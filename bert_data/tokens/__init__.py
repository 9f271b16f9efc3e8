"""Text to tokens: tokenizers, vocabularies, and the token store.

definition.py       the tokenizer in plain Python; characters.py, vocabulary_file.py
tokenizer.py        the fast one, equal to it: block_run.py (a pass over text), blocks.py, chunks.py
                    and wordpiece.py (its kernels), entries.py and codepoints.py (its tables),
                    tokenize_texts.py, decoding.py, model_inputs.py
tokenizer_file.py   either tokenizer, from a vocabulary or a tokenizer.json; library_tokenizer.py
vocabulary.py       a checked vocabulary; vocabulary_training.py makes one
store.py            the token store: its format, and reading; store_writer.py, store_notes.py
store_making.py     text to stores: filling.py; merging.py and verifying.py: stores that exist
store_names.py      "web@7" and patterns to stores; store_spans.py: some of their documents
"""
