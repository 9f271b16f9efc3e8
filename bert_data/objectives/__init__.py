"""What a model learns from text: instances with masked words and segments, and labelled texts.

objective.py       what an objective is; nsp.py, sop.py, none.py: each; next_sentence.py: by name
masking.py         what a masking rule is; masked_tokens.py, masked_ngrams.py and masked_spans.py:
                     each; masking_rules.py: by name, with their settings
definition.py      instances in plain Python, as in google-research/bert
making.py          token store -> rows of instances, by kernels: making_rows.py, which calls
                     segments.py     segments
                     masking_rules.py, for any stream of random numbers
                     mersenne.py     CPython's and NumPy's random numbers
rows.py            an instance as a row of 32-bit words
columns.py         rows -> columns of records
labelled_texts.py, labels.py   labelled texts -> columns of records
"""
