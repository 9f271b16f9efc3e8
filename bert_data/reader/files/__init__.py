"""Shards and their records: find the files, check them, and read their records.

shards.py          patterns to shards, with what their index and manifest say
checks.py          compares the configuration with the shards
blocks.py          the records of a shard, block by block
indexes.py         where each record is
records.py         records by number, of any shards; record_source.py: what all of them offer
gathering.py       of TFRecord shards
  local_records.py   of local ones: from files, maps or memory
  remote_records.py  of remote ones, fetched ahead of the plan into a local file
system_calls.py    reading and copying inside kernels
parquet_rows.py    rows of Parquet as records; parquet_shards.py: in order, or by number
corruption.py      what happens when a record is damaged
"""
