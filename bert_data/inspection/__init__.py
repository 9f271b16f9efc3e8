"""Look at sets of records, token stores and curated text: what is in them, and is it right.

content.py    what is shown: spans of text with a style, tables, plots
page.py       content as a self-contained HTML page; plots.py: its plots as SVG

Nothing here needs TensorFlow.
"""
