"""Sources to look at, each kind as items: fields, lines to show, rows for programs.

opening.py     paths and flags to a source
items.py       what a source is, and its items
shard_items.py    the records of shards by number, or in order
instances.py   masked LM records
stores.py      the documents of token stores; samples.py GPT samples of them
example_sources.py    labelled texts, and any other tf.train.Example
texts.py       documents of text, and what became of them in curation
"""
