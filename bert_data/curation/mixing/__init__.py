"""Building blocks of the steps that sample documents.

a seed, an id, a field, scores  ──buckets──▶ a draw in [0, 1), the name of a document's bucket
parameters, sizes of buckets    ──plan──▶ epochs of each
counts                          ──plan──▶ the table of what was wanted and what was reached
"""
