"""Sets of records: shards, usually an index beside each, and a manifest that vouches for them.

creating.py      from text or token stores to a set: read it first
partitioned.py   the same for text in partitions, each with random numbers of its own
corpus.py        documents, as a token store
spool.py         instances in the order of one stream of random numbers, written to shards
record_set.py    the files of a set, of instances, labelled texts or GPT samples
manifest.py      what made a set
dataset_config.py   the settings
config.py        what follows from them
summary.py       what a run says when it has finished
"""
