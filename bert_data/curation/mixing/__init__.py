"""Building blocks of the steps that sample documents.

a seed, an id  ──draws──▶ a number in [0, 1)
a field  ──buckets──▶ the name of a document's bucket      scores ──percentiles──▶ bounds of buckets
parameters ──entries──▶ numbers by data set and bucket     ──wishes, plan──▶ epochs
counts   ──reached──▶ the table of what was wanted and what was reached
"""
