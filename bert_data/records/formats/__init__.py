"""Formats of shards: batches of columns in, files out.

registry.py          the formats by name
tfrecord.py          framed tf.train.Examples (examples.py, wire_kernels.py), an index beside each
parquet_files.py     rows of lists, with the manifest in each file's metadata
"""
