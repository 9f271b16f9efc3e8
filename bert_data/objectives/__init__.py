"""What a model learns from text: instances with masked words and segments, and labelled texts.

objective.py       what an objective is; nsp.py, sop.py, none.py: each; next_sentence.py: by name
definition.py, masking_definition.py   instances in plain Python, as in google-research/bert
making.py          token store -> rows of instances, by kernels: making_rows.py, which calls
                     segments.py     segments
                     masking.py      the masking rule, for any stream of random numbers
                     mersenne.py     CPython's random numbers
rows.py            an instance as a row of 32-bit words
columns.py         rows -> columns of records
labelled_texts.py, labels.py   labelled texts -> columns of records
"""
