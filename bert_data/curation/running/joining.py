"""The files of the ledger and of the rejected documents, joined from the parts of shards.

    pass-0/000000/ledger.arrow 60 rows ─▶ ledger.web.jsonl-00000-of-00002.parquet 60 rows
    pass-0/000001/ledger.arrow 30 rows ─┬▶ ledger.web.jsonl-00001-of-00002.parquet 40 rows
    pass-1/000000/ledger.arrow 10 rows ─┘

Parts keep their order, pass by pass and shard by shard, and are never divided.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow
from pyarrow import ipc, parquet

from bert_data.curation.running.document_files import FILE, compressed
from bert_data.curation.running.ledger import SCHEMA
from bert_data.storage import naming, open_input, open_scratch

_ROWS_A_GROUP = 1 << 17
_BLOCK_BYTES = 1 << 20


def share_out(parts: Iterable[tuple[str, int]], num_files: int) -> list[list[str]]:
    """Distribute parts, each (path, size), over files: each goes to the one that it begins in.

    If all sizes are 100, and there are four files, a part that begins at 60 goes to the third. A
    file may get none; parts without content are left out.
    """
    filled = [(path, size) for path, size in parts if size]
    total = sum(size for _, size in filled)
    files: list[list[str]] = [[] for _ in range(num_files)]
    before = 0
    for path, size in filled:
        files[before * num_files // total].append(path)
        before += size
    return files


def join_ledgers(parts: Sequence[str], folder: str) -> dict[str, Any]:
    """Write parts of the ledger to a Parquet file, named `FILE`, in a folder.

    Returns:
      "num_rows" of it.
    """
    num_rows = num_waiting = 0
    waiting: list[pyarrow.RecordBatch] = []
    with (
        open_scratch(os.path.join(folder, FILE)) as file,
        parquet.ParquetWriter(file, SCHEMA, compression="zstd", write_page_checksum=True) as writer,
    ):

        def write() -> None:
            writer.write_table(pyarrow.Table.from_batches(waiting, SCHEMA))
            waiting.clear()

        for part in parts:
            with open_input(part) as part_file, ipc.open_stream(part_file) as stream:
                for batch in stream:
                    waiting.append(batch)
                    num_rows += batch.num_rows
                    num_waiting += batch.num_rows
                    if num_waiting >= _ROWS_A_GROUP:
                        write()
                        num_waiting = 0
        write()
    return {"num_rows": num_rows}


def join_rejected(name: str, parts: Sequence[str], folder: str) -> dict[str, Any]:
    """Write rejected documents of shards to a file, named `FILE`, in a folder.

    Args:
      name: its final name, whose ending decides on the compression.
    """
    with open_scratch(os.path.join(folder, FILE)) as file, compressed(file, name) as stream:
        for part in parts:
            with naming(part), open_input(part) as part_file:
                while data := part_file.read(_BLOCK_BYTES):
                    stream.write(data)
    return {}
