"""The commands beside the top-level scripts, one file each: `python -m bert_data.cli.NAME`."""
