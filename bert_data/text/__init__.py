"""Files of any format in, blocks of whole lines or of documents out."""

ENCODING_ERRORS = ("strict", "replace", "ignore")
"""Treatments of bytes that are not UTF-8, as in `bytes.decode`."""
