"""Files in, checked records out: which shards there are, what they hold, and their records.

shards.py        patterns to shards, with what index and manifest tell of them
checks.py        the configuration compared with the shards
blocks.py        the records of a shard, one block after the other; scan.py: the frames of TFRecord
indexes.py       where each record is; gathering.py: records by their numbers
parquet_*.py     the same for Parquet
corruption.py    what happens when a record is damaged
"""
