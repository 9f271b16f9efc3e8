"""Instances in, records out: tf.train.Example bytes in TFRecord shards, with index and manifest."""
