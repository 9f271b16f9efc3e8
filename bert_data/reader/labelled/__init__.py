"""Records of labelled texts in, batches for a classifier out.

batches.py          the reader; mapped_records.py: records by their numbers
ragged.py           ragged tensors from records; segments.py: rows for BERT
"""
