"""Decode Examples into dense batches.

wire.py, number_lists.py, vectors.py   protocol buffers' numbers; example.py: where they are
block.py                               records in memory, before they are decoded
decode.py                              dense batches, placed as `bert_data.reader.layout` says
"""
