"""Decode Examples into dense batches.

block.py      records in memory, before they are decoded
example.py    where each feature is in an Example; wire.py: protocol buffers
decode.py     dense batches, as `bert_data.reader.layout` says; number_lists.py: their numbers
"""
