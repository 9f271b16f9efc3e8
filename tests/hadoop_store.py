"""A folder of a Hadoop cluster, for tests that run where one is.

    BERT_DATA_TEST_HDFS=hdfs://namenode:8020/tmp python -m pytest tests/storage/test_hadoop.py

With it, the environment must have what libhdfs needs (docs/guides/object_storage.md). The fixture
`hadoop_folder` of conftest.py gives a test an empty folder there, and skips it where there is none.
"""

import os
import secrets

import pytest
from pyarrow import fs

from bert_data import storage
from bert_data.storage.file_systems import resolve

PLACE = "BERT_DATA_TEST_HDFS"


class HadoopFolder:
    """An empty folder; `uploads` and `clear` are those of a store."""

    def __init__(self) -> None:
        if not os.environ.get(PLACE):
            pytest.skip(f"needs a Hadoop cluster, in a folder of which {PLACE} lets it write")
        self.root = f"{os.environ[PLACE].rstrip('/')}/bert_data-{secrets.token_hex(4)}"

    def uri(self, key: str = "") -> str:
        return f"{self.root}/{key}"

    def put(self, key: str, data: bytes) -> None:
        system, path = resolve(self.uri(key))
        with system.open_output_stream(path, compression=None) as stream:
            stream.write(data)

    def get(self, key: str) -> bytes | None:
        return storage.read_bytes(self.uri(key)) if storage.exists(self.uri(key)) else None

    def keys(self, prefix: str = "") -> list[str]:
        """The keys of all files, hidden ones too."""
        system, path = resolve(self.root)
        infos = system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
        keys = (info.path.partition(f"{path}/")[2] for info in infos if info.is_file)
        return sorted(key for key in keys if key.startswith(prefix))

    def contents(self, prefix: str = "") -> dict[str, bytes | None]:
        """All files whose keys begin so, by the rest of their keys."""
        return {key.removeprefix(prefix): self.get(key) for key in self.keys(prefix)}

    def uploads(self) -> list[str]:
        """The names of unfinished files."""
        return [key for key in self.keys() if key.endswith(".writing")]

    def remove_all(self) -> None:
        storage.remove_folder(self.root)
