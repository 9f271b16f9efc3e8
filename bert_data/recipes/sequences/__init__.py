"""The sequences of token stores, in the order of their epochs.

store_source.py     the n-th sequence of a source, found at once; permutation.py
cutting.py          how a store is cut into sequences
opened_stores.py    the stores of a source; fetched_tokens.py: those in buckets, by ranges
"""
