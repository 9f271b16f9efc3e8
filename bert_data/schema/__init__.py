"""The contents of records: tables of fields, and batches of columns with their values.

fields.py          the fields of every kind of record, and what is derived from them
columns.py         ColumnBatch: values and row splits, passed between stages
ragged_arrays.py   arrays of several ragged dimensions, and the fields that hold one
"""
