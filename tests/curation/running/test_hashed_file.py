"""The size and the digest of what is written."""

import hashlib
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bert_data.curation.running.hashed_file import HashedFile


def test_it_counts_bytes_of_any_buffer() -> None:
    file = io.BytesIO()
    hashed = HashedFile(file)
    assert hashed.write(b"ab") == 2
    assert hashed.write(np.arange(3, dtype=np.int32)) == 12
    assert hashed.write(memoryview(b"")) == 0
    assert (hashed.tell(), hashed.num_bytes) == (14, 14)
    assert hashed.digest.digest() == hashlib.sha256(file.getvalue()).digest()
    hashed.close()
    assert hashed.closed
    assert not file.closed


def test_pyarrow_writes_to_it() -> None:
    file = io.BytesIO()
    hashed = HashedFile(file)
    table = pa.table({"text": ["a", "b" * 1000]})
    pq.write_table(table, hashed)
    assert hashed.digest.hexdigest() == hashlib.sha256(file.getvalue()).hexdigest()
    assert hashed.num_bytes == len(file.getvalue())
    assert pq.read_table(io.BytesIO(file.getvalue())) == table
