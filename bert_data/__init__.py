"""Text to pretraining data for BERT-like models in TensorFlow, and batches to train with.

    files --text--> Document --tokens--> token store --instances--> MLM/NSP instances
      --records--> TFRecord shards, index, manifest --reader--> tf.data batches --training--> model

Each arrow is a package here, which imports only those before it; CONTRIBUTING.md has the table,
under "Which way imports point". This module loads nothing: TensorFlow and numba wait for a stage
that needs them.
"""

__version__ = "0.1.0"
