"""`gs://`: Google's store."""

import re
from typing import TYPE_CHECKING

from bert_data.storage.file_systems import Failure, ObjectStore, curl_failure
from bert_data.storage.paths import Uri

if TYPE_CHECKING:
    from pyarrow import fs

RETRY_SECONDS = "60"
_ERROR = re.compile(r"google::cloud::Status\((?P<name>[A-Z_]+): Retry policy exhausted")


class GoogleStore(ObjectStore):
    """Google's store."""

    servers = ("STORAGE_EMULATOR_HOST",)
    hides_unfinished = True
    lists_folders = False

    def open(self, uri: Uri, server: str) -> "tuple[fs.FileSystem, str]":
        """Return the file system of a bucket, that of an emulator if the environment names one."""
        root, options = uri.root, [uri.options.removeprefix("?")] if uri.options else []
        if "retry_limit_seconds" not in uri.options:
            options.append(f"retry_limit_seconds={RETRY_SECONDS}")
        if server and "endpoint_override" not in uri.options:
            scheme, _, host = server.rpartition("://")
            options += [f"endpoint_override={host.rstrip('/')}", f"scheme={scheme or 'http'}"]
            root = f"gs://anonymous@{root.removeprefix('gs://').rpartition('@')[2]}"
        return self.from_uri(root, "?" + "&".join(options))

    def failure(self, text: str) -> Failure | None:
        """Return what an error means."""
        if lost := curl_failure(text):
            return lost
        match = _ERROR.search(text)
        return Failure(match["name"]) if match else None
