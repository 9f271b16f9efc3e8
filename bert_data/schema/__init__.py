"""What a record is: tables of fields, and batches of columns that hold their values.

fields.py          the fields of every kind of record, and what follows from them
columns.py         ColumnBatch: values and row splits, what stages hand on
ragged_arrays.py   arrays of several ragged dimensions, and the fields that hold one
"""
