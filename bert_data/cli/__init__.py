"""The commands, one file each, which `bert-data NAME` runs; `main.py` lists them.

`python -m bert_data.cli.NAME` runs one, too, and so do create_pretraining_data.py and
run_pretraining.py at the top, by Google's names.
"""
