"""Look at sets of records, token stores and curated text: what is in them, and is it right.

content.py    what is shown: spans of text with a style, tables, plots
page.py       content as a self-contained HTML page; plots.py: its plots as SVG
terminal.py   content in a terminal, or as plain text
words.py      ids to words
sources/      what can be looked at: records, documents, samples, entries of ledgers
choosing.py   which of them: by number, at random, by a word
showing.py    shows them
comparing.py  two sources, item by item; differences.py shows how they differ,
  distributions.py  in lengths, predictions, labels

check.py      a whole set: is it undamaged, and can a model learn from it; findings.py
  surveying.py    reads a shard whole; measuring.py: its records, one kernel; repeats.py: copies
  rules.py        what records must agree with; set_files.py: the files of a set
  any_records.py  the files of labelled texts and GPT samples
  same_document.py  random next sentences that are not random; dense.py: records to look at
  judging.py      figures.py with what is expected of them, and findings
plan.py       the ways to batch a set: batchings.py
reports.py    shows what check and plan found

Nothing here needs TensorFlow.
"""
