"""Shards and their records: find the files, check them, and read their records.

shards.py          patterns to shards, with what their index and manifest say
checks.py          compares the configuration with the shards
record_source.py   records by number, and damage to them
blocks.py          the records of a TFRecord shard, block by block; indexes.py: where each is
gathering.py       its records by number: local_records.py from files, maps or memory,
                   remote_records.py fetched ahead of the plan into a local file, or from either
parquet_shards.py  rows of Parquet as records, in order
"""
