"""Read records of labelled texts as batches for a classifier.

batches.py     the reader
ragged.py      ragged tensors from records
"""
