"""What a model learns from text: instances with masked words and segments, and labelled texts.

next_sentence.py   the question about two segments: the table of objectives
definition.py, masking_definition.py   instances in plain Python, as in google-research/bert
making.py          token store -> rows of instances, by kernels: making_rows.py, which calls
                     sentences.py, pairing.py     segments
                     masking.py                   the masking rule, for any stream of random numbers
                     mersenne.py, shuffling.py    CPython's random numbers
rows.py            an instance as a row of 32-bit words; moving_rows.py: together with its tokens
columns.py         rows -> columns of records
labelled_texts.py, labels.py   labelled texts -> columns of records
"""
