"""The commands besides the top-level scripts, one file each: `python -m bert_data.cli.NAME`."""
