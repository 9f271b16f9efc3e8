"""What the endings of a file's name say, which is what readers take it for.

"a.jsonl.gz"  ->  gzip, jsonl        "train.tfrecord@4"  ->  tfrecord        "train.1"  ->  -
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping

MAX_SHARDS = 99_999
"""Of a set, such as train.tfrecord@N: five digits, as in path-00000-of-00001."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
JSONL, TEXT, HTML = "jsonl", "text", "html"
FORMATS = {
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".parquet": "parquet",
    ".jsonl": JSONL,
    ".ndjson": JSONL,
    ".json": JSONL,
    ".txt": TEXT,
    ".csv": "csv",
    ".tsv": "tsv",
    ".html": HTML,
    ".htm": HTML,
}


def kinds_of(name: str) -> list[str]:
    """Return what the endings of a name say: a compression, a format, both or nothing."""
    stem, ending = os.path.splitext(re.sub(r"@\d+$", "", name))
    kinds = []
    if ending in COMPRESSIONS:
        kinds.append(COMPRESSIONS[ending])
        stem, ending = os.path.splitext(stem)
    return [*kinds, FORMATS[ending]] if ending in FORMATS else kinds


def refuse_other_endings(
    names: Iterable[str], held: Collection[str], settings: Mapping[str, str] | None = None
) -> None:
    """Refuse outputs whose endings say something else than what they will hold.

    Args:
      names: of the outputs, as a user writes them.
      held: the format, and the compression if there is one.
      settings: that choose what an ending may say.
    """
    for name in names:
        for kind in kinds_of(name):
            if kind not in held:
                setting = (settings or {}).get(kind)
                way = f"set `{setting}={kind}`, or " if setting else ""
                raise ValueError(
                    f"output {name!r} would not be {kind}, as its ending says; {way}choose another"
                    " ending"
                )
