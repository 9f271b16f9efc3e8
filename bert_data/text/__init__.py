"""Files of any format in, blocks of whole lines or of documents out.

formats.py      the formats by name and ending: prose.py, jsonl.py, parquet.py, html.py,
                warc.py (warc_records.py, http_content.py); file_kinds.py knows other files
corpora/        the formats of corpora as they are published: Wikipedia, arXiv, books, code, ...
documents.py    blocks of documents, and how they are filled; sentences.py splits their texts
lines.py        blocks of lines, also of WikiText, and documents made of them
compression.py  .gz, .zst, .bz2 and .xz; partitions.py divides files
"""

ENCODING_ERRORS = ("strict", "replace", "ignore")
"""Treatments of bytes that are not UTF-8, as in `bytes.decode`."""

ARC_ADVICE = "write it as WARC first (warcio recompress FILE.arc.gz FILE.warc.gz)"
"""What to do with an ARC archive, the form of crawls before 2009."""
