"""Records of labelled texts in, batches for a classifier out.

batches.py          the reader
ragged.py           ragged tensors from records; segments.py: rows for BERT
"""
