"""Records of BERT's instances, from token stores, and the sets of files that hold them.

    document ──▶ instance ──▶ fields ──▶ Example ──▶ shard ──▶ manifest
    tokens of    two segments, columns of  bytes, or   a file     last: the
    sentences    masked words  a batch     a Parquet   and its    set is whole
                                           row         index

definition.py      the specification, in plain Python: text to TrainingInstance to Example
objectives.py      what is asked of two segments: nsp, sop, none

sets/corpus.py     documents: a token store, of text or of finished stores
instances/         making.py draws instances of a store as rows, by the kernels of making_rows.py;
                   mersenne.py has CPython's random numbers for them
masking/           which words are masked: tokens.py, ngrams.py, spans.py
fields.py          the tables of fields, from which encoders, Parquet's columns and readers follow
columns.py         batches of columns; ragged_arrays.py: fields of several ragged dimensions.
                   instances/rows.py makes columns of rows
formats/           columns as files: Examples in TFRecord shards, or Parquet
sets/              shards, indexes and manifests; creating.py runs all stages: read it next

The kernels equal the definition, draw for draw; tests compare them.
"""
