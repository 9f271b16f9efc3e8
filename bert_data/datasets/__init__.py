"""Sets of records: shards, usually an index beside each, and a manifest that vouches for them.

`masked_lm` makes sets from text or token stores: read it first. `labelled_set` makes them from
labelled texts, `sample_set` from GPT samples.
"""
