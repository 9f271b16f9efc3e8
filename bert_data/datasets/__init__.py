"""Sets of records: shards, mostly an index beside each, and a manifest that vouches for them.

masked_lm.py        text or a token store to a set: the stages in their order
corpus.py           what is read: text, or a token store
budget.py           how the memory is shared
spool.py            instances in the order of the records, whatever fits in memory
summary.py          what a run says when it is done
labelled.py         labelled texts to a set; record_spool.py
samples.py          GPT samples to a set
writing.py          chunks of columns to shards, for all of them
record_set.py       the files of a set, which appear together
manifest.py         what made a set, and what whole files look like
"""
