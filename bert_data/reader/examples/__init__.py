"""Examples in, dense batches out.

wire.py, number_lists.py, vectors.py   protocol buffers' numbers; example.py: where they are
block.py                               records in memory, before they are decoded
decode.py, sections.py                 dense batches, and how they lie in memory
"""
