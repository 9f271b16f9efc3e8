"""Corpora as their publishers ship them, one file each: documents with metadata, as prose."""
