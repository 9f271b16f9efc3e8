"""Sources to look at, each kind as items: fields, lines to show, rows for programs.

opening.py     paths and flags to a source; recognizing.py: what kind of files they are
items.py       what a source is, and its items
instances.py   masked LM records, of TFRecord or Parquet
samples.py     GPT samples: of shards, or made from stores
stores.py      the documents of token stores
labelled.py    labelled texts
examples.py    any other tf.train.Example
texts.py       documents of text; ledgers.py: what became of them in curation
shards.py      the records of TFRecord shards by number, or in order
"""
