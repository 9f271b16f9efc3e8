"""Sets of records: shards, usually an index beside each, and a manifest that vouches for them.

masked_lm.py        text or a token store to a set: the stages in their order; config.py
corpus.py           the input: text, or token stores (stored_corpus.py)
budget.py           how memory is divided
spool.py            instances in the order of the records, in bounded memory
partitioned.py      the same by tasks (partition_tasks.py), each of which writes shards of its own
streams.py          what both share: one stream of random numbers
summary.py          what a run reports at its end
labelled.py         labelled texts to a set
samples.py          GPT samples to a set; sample_shards.py
defined_examples.py the reference's functions that write Examples
writing.py          chunks of columns to shards, for all of them
record_set.py       the files of a set, which appear together
manifest.py         what made a set, and what complete files look like
"""
