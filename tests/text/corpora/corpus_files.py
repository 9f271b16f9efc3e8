"""Archives as tests write them, and documents as they read them."""

import io
import tarfile
from pathlib import Path
from typing import Any

from bert_data.text.documents import DocumentBlock, TextDocument
from bert_data.text.formats import read_documents
from bert_data.text.text_config import TextConfig


def tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def read_blocks(*paths: Path, **settings: Any) -> list[DocumentBlock]:
    config = TextConfig(**{"keep_fields": True, **settings})
    return list(read_documents([str(path) for path in paths], config))


def read(*paths: Path, **settings: Any) -> list[TextDocument]:
    return [each for block in read_blocks(*paths, **settings) for each in block.documents]
