"""Instances: drawn from the documents of a token store, as rows, and turned into columns.

making.py        the passes over the documents, and the order of the records
making_rows.py   the kernels: segments of sentences, truncation, masks
mersenne.py      CPython's random numbers for them
rows.py          an instance as words of 32 bits, and rows as batches of columns
"""
