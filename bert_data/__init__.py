"""Text to pretraining data for BERT-like models in TensorFlow, and batches to train with.

    files --text--> Document --tokens--> token store --instances--> MLM/NSP instances
      --records--> TFRecord shards, index, manifest --reader--> tf.data batches --training--> model

Each arrow is a package here; imports point back along the arrows and never forward. This module
loads nothing: neither TensorFlow nor numba, until a stage that needs them is imported.
"""

__version__ = "0.1.0"
