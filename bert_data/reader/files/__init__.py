"""Shards and their records: find the files, check them, and read their records.

shards.py          patterns to shards, with what their index and manifest say
checks.py          compares the configuration with the shards
blocks.py          the records of a shard, block by block
indexes.py         where each record is; gathering.py: records by number
parquet_rows.py    rows of Parquet as records; parquet_shards.py: in order, or by number
corruption.py      what happens when a record is damaged
"""
