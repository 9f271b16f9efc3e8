"""Files in, blocks of whole lines out."""

ENCODING_ERRORS = ("strict", "replace", "ignore")
"""What becomes of bytes that are not UTF-8, as in `bytes.decode`."""
