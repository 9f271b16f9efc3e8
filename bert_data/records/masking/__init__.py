"""Masking: which tokens of an instance are to be predicted, and what stands in their place.

config.py   the rules by name, and their settings
rule.py     what the rules share
tokens.py   BERT's rule; ngrams.py: ALBERT's; spans.py: SpanBERT's
"""
