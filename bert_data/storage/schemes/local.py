"""`file://`: local files, by URIs."""

from typing import TYPE_CHECKING

from bert_data.storage.file_systems import Scheme
from bert_data.storage.paths import Uri

if TYPE_CHECKING:
    from pyarrow import fs


class LocalFiles(Scheme):
    """Local files, whose paths may have `..` in them as elsewhere."""

    any_key = True

    def open(self, uri: Uri, server: str) -> "tuple[fs.FileSystem, str]":
        """Return the local file system."""
        return self.from_uri(uri.root, uri.options)
