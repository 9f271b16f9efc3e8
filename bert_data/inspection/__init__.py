"""Look at sets of records, token stores and curated text: what is in them, and is it right.

terminal.py   lines of text with styles, and tables, in a terminal or a browser
sources/      what can be looked at, as items; showing.py shows items
set_check.py  is a set undamaged, and can a model learn from it: surveying.py reads a shard,
              measuring.py its records, judging.py says what is wrong; rules.py, set_files.py
batchings.py  what each way to batch a set pads; reports.py shows what check found

Nothing here needs TensorFlow.
"""
