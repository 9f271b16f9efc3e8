"""Shards and their records: find the files, check them, and read their records.

shards.py        patterns to shards, with what their index and manifest say
checks.py        compares the configuration with the shards
blocks.py        the records of a shard, block by block; scan.py: the frames of TFRecord
indexes.py       where each record is; gathering.py: records by number
parquet_*.py     the same for Parquet; row_groups.py: rows by number
both_formats.py  records by number, in either format
corruption.py    what happens when a record is damaged
"""
