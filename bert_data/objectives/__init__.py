"""Training examples from text: instances with masked words and segments, and labelled texts.

objective.py       what an objective is
nsp, sop, none     the objectives, a file each; objectives.py: by name
masking.py         what masking rules have in common
masked_....py      the rules, a file each; masking_rules.py: by name, with their settings
instance_definition.py    instances in plain Python, as in google-research/bert
making.py          token store -> rows of instances, by the kernels of making_rows.py
mersenne.py        CPython's and NumPy's random numbers in kernels
rows.py            an instance as a row of 32-bit words, and rows -> columns of records
labels.py          labelled texts -> columns of records
"""
