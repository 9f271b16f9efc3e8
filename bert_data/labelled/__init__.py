"""Labelled texts: from files to records, to batches, to a classifier.

    texts ──▶ columns ──▶ records ──▶ ragged batches ──▶ classifier

texts.py         texts with labels, from CSV, TSV or JSON
columns.py       labels as integers, texts as tokens
records.py       sets of their records
ragged.py        ragged tensors in records
batches.py       batches for a classifier
classifier.py    the model: an encoder with a head

Keras finds the saved model's class as soon as this package is imported.
"""

from bert_data.training.saved_classes import register_saved_classes

register_saved_classes("bert_data.labelled.classifier", ["TextClassifier"])
