"""Masking: which tokens of an instance are to be predicted, and what stands in their place.

config.py        the settings
choosing.py      the rules by name
making_rule.py   a rule as kernels take it
rule.py          what the rules share
tokens.py        BERT's rule; ngrams.py: ALBERT's; spans.py: SpanBERT's
"""
