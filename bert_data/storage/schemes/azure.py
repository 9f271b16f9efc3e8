"""`abfs://` and `abfss://`: Azure, with its own credentials or a connection string."""

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from bert_data.storage.file_systems import Failure, ObjectStore
from bert_data.storage.paths import Uri

if TYPE_CHECKING:
    from pyarrow import fs

_CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
_ERROR = re.compile(r"Azure Error: \[(?P<name>\w*)\] (?P<reason>.*?)(?: Request ID:.*)?$")


class Azure(ObjectStore):
    """Azure, which shows a file from its first byte on, and renames nothing without hierarchy."""

    servers = (_CONNECTION,)

    def open(self, uri: Uri, server: str) -> "tuple[fs.FileSystem, str]":
        """Return the file system of an account, and the container."""
        if server and not uri.options:
            opened = _open_by_connection(uri.root, server)
            if opened is not None:
                return opened
        return self.from_uri(uri.root, uri.options)

    def place(self, uri: Uri) -> str:
        """Return account, container and key, which a URI may spell in three ways."""
        container, _, host = uri.root.partition("://")[2].rpartition("@")
        if not container and "." not in host:
            connection = os.environ.get(_CONNECTION, "")
            with contextlib.suppress(ValueError):
                return f"abfs://{_connection_values(connection)[0]}/{host}/{uri.key.rstrip('/')}"
        key = "/".join(filter(None, (container, uri.key.rstrip("/"))))
        return f"abfs://{host.partition('.')[0]}/{key}"

    def rename(self, system: Any, source: str, target: str) -> None:
        """Let the store copy a file, and remove it."""
        system.copy_file(source, target)
        system.delete_file(source)

    def remove(self, system: Any, key: str) -> None:
        """Remove a file; Azurite breaks off if there is none."""
        from pyarrow import fs

        if system.get_file_info(key).type != fs.FileType.NotFound:
            system.delete_file(key)

    def failure(self, text: str) -> Failure | None:
        """Return what an error means."""
        match = _ERROR.search(text)
        if match and not match["name"]:
            return Failure(match["reason"], is_lost=True)
        return Failure(match["reason"]) if match and match["reason"].startswith("5") else None


def _connection_values(connection: str) -> tuple[str, dict[str, str], str, str]:
    """Return the account, the values, and the endpoints of blobs and of files."""
    values = dict(part.strip().partition("=")[::2] for part in connection.split(";"))
    protocol = values.get("DefaultEndpointsProtocol", "https")
    suffix = values.get("EndpointSuffix", "core.windows.net")
    account = values.get("AccountName", "")
    blob = values.get("BlobEndpoint") or f"{protocol}://{account}.blob.{suffix}"
    dfs = values.get("DfsEndpoint") or blob.replace(".blob.", ".dfs.")
    account = account or blob.partition("://")[2].partition(".")[0]
    if not account or not (values.get("AccountKey") or values.get("SharedAccessSignature")):
        reason = "AccountName=...;AccountKey=... or BlobEndpoint=...;SharedAccessSignature=..."
        raise ValueError(f"{_CONNECTION} must have {reason}")
    return account, values, blob, dfs


def _open_by_connection(root: str, connection: str) -> "tuple[fs.FileSystem, str] | None":
    """Return the file system and container of a URI; None if the connection is of another one."""
    from pyarrow import fs

    account, values, blob, dfs = _connection_values(connection)
    container, _, host = root.partition("://")[2].rpartition("@")
    if container and host.partition(".")[0] != account:
        return None
    if not container and "." in host:
        return None
    key, token = values.get("AccountKey"), values.get("SharedAccessSignature")
    blob_scheme, blob_authority = _split_endpoint(blob, account)
    dfs_scheme, dfs_authority = _split_endpoint(dfs, account)
    system = fs.AzureFileSystem(
        account,
        account_key=key,
        sas_token=None if key else "?" + str(token).removeprefix("?"),
        blob_storage_authority=blob_authority,
        blob_storage_scheme=blob_scheme,
        dfs_storage_authority=dfs_authority,
        dfs_storage_scheme=dfs_scheme,
    )
    return system, container or host


def _split_endpoint(endpoint: str, account: str) -> tuple[str, str]:
    """Return the scheme and the authority, as pyarrow wants it, of an account's endpoint.

    "https://acme.blob.core.windows.net"  ->  https, ".blob.core.windows.net"
    "http://127.0.0.1:10000/acme"         ->  http, "127.0.0.1:10000"
    """
    scheme, _, rest = endpoint.partition("://")
    return scheme, rest.partition("/")[0].removeprefix(account)
