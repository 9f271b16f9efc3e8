"""Formats of shards: batches of columns in, files out.

registry.py    the formats by name
tfrecord.py    framed tf.train.Examples, with an index beside each file:
examples.py, encoding.py, wire.py, index.py
parquet.py     rows of lists, with the manifest in each file's metadata
"""
