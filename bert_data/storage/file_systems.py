"""The file systems of URIs, by pyarrow.fs.

    resolve("s3://bucket/text/a.txt") -> S3FileSystem, "bucket/text/a.txt"

A key is used literally: %20 is three characters. Credentials are found as the file system's own
library finds them. The environment names other servers than the stores' own (`_SERVERS`), and for
Azure also an account's key; options of the URI come before it, as in
"s3://bucket/a.txt?endpoint_override=localhost:9000&scheme=http". AWS_MAX_ATTEMPTS says how often a
request to S3 that fails is sent.
"""

import functools
import os
import re
from typing import TYPE_CHECKING, cast

from bert_data import forced_end
from bert_data.storage.attempts import max_attempts
from bert_data.storage.paths import Path, Uri, split_uri

if TYPE_CHECKING:
    from pyarrow import fs

SCHEMES = ("file", "s3", "gs", "abfs", "abfss", "hdfs", "viewfs")
OBJECT_SCHEMES = ("s3", "gs", "abfs", "abfss")
"""Of stores that have objects, but no folders, and no renaming."""
HADOOP_SCHEMES = ("hdfs", "viewfs")

_NO_NAMES = {"", ".", ".."}
_SECRET = re.compile(r"[?&]\w*(?:key|secret|password|token)\w*=", re.IGNORECASE)
_CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
_SERVERS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "gs": ("STORAGE_EMULATOR_HOST",),
    "abfs": (_CONNECTION,),
    "abfss": (_CONNECTION,),
}
_S3_OPTIONS = ("endpoint_override", "scheme", "region", "anonymous", "tls_ca_file_path")
_CONNECT_SECONDS = 5.0
_STALL_SECONDS = 15.0  # without a byte
_GS_RETRY_SECONDS = "60"


def resolve(path: Path) -> tuple["fs.FileSystem", str]:
    """Return the file system of a URI, and the path in it.

    Raises:
      ValueError: the URI's scheme or an option is unknown.
      OSError: the file system cannot be reached.
    """
    forced_end.note_server()
    parts = split_known(path)
    server = next(filter(None, map(os.environ.get, _SERVERS.get(parts.scheme, ()))), "")
    system, base = _file_system(parts.root, parts.scheme, parts.options, server)
    key = f"{base.rstrip('/')}/{parts.key}"
    if parts.scheme in HADOOP_SCHEMES:
        key = re.sub("/{2,}", "/", key)  # Java takes what follows two for a host
    return system, key if base else key[1:]  # of an Azure account: the container begins the key


def split_known(path: Path) -> Uri:
    """Return the parts of a URI.

    Raises:
      ValueError: its scheme is unknown, it holds credentials, or its key has a part that some
        stores leave out, so that it would be another name of the same file.
    """
    uri = os.fspath(path)
    parts = split_uri(uri)
    if parts is None or parts.scheme not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        shown = f"{uri.partition('://')[0]}://..." if "@" in uri else uri
        raise ValueError(f"{shown!r} is not a supported path; use a local path or {known}")
    _refuse_credentials(parts)
    names = parts.key.removesuffix("/").split("/") if parts.key else ()
    if parts.scheme != "file" and not _NO_NAMES.isdisjoint(names):
        raise ValueError(f"{uri!r} has a part '', '.' or '..', which some stores leave out")
    return parts


def _refuse_credentials(parts: Uri) -> None:
    """Refuse a URI with credentials, which logs and manifests would show; the error does not."""
    user, _, host = parts.root.partition("://")[2].rpartition("@")
    has_colon = ":" in (host if parts.scheme in OBJECT_SCHEMES and not user else user)
    if has_colon or (user and parts.scheme == "s3") or _SECRET.search(parts.options):
        raise ValueError(
            f"{parts.scheme}:// URI with credentials, which logs would show; set them in the"
            " environment or the store's own configuration"
        )


@functools.lru_cache
def _file_system(root: str, scheme: str, options: str, server: str) -> tuple["fs.FileSystem", str]:
    from pyarrow import ArrowInvalid, fs

    if scheme == "s3":
        return _open_s3(root, options, server)
    if scheme in HADOOP_SCHEMES:
        from bert_data.storage.hadoop import open_hadoop  # here, as few runs need it

        return cast("fs.FileSystem", open_hadoop(root, options)), "/"
    if scheme == "gs":
        root, options = _with_gs_defaults(root, options, server)
    try:
        if scheme in ("abfs", "abfss") and server and not options:
            opened = _open_azure(root, server)
            if opened is not None:
                return opened
        return fs.FileSystem.from_uri(f"{root}/{options}")
    except ArrowInvalid as error:
        raise ValueError(f"{root!r} cannot be used: {' '.join(str(error).split())}") from error


def _with_gs_defaults(root: str, options: str, server: str) -> tuple[str, str]:
    """Return the root and the options of a gs:// URI with those of an emulator, if there is one."""
    added = [] if "retry_limit_seconds" in options else [f"retry_limit_seconds={_GS_RETRY_SECONDS}"]
    if server and "endpoint_override" not in options:
        scheme, _, host = server.rpartition("://")
        added += [f"endpoint_override={host.rstrip('/')}", f"scheme={scheme or 'http'}"]
        root = f"gs://anonymous@{root.removeprefix('gs://').rpartition('@')[2]}"
    return root, "?" + "&".join(filter(None, [options.removeprefix("?"), *added]))


def _open_azure(root: str, connection: str) -> tuple["fs.FileSystem", str] | None:
    """Return the file system of a container by a connection string; None for another account.

    Raises:
      ValueError: the connection string names no account, or no key.
    """
    from pyarrow import fs

    values = dict(part.strip().partition("=")[::2] for part in connection.split(";"))
    protocol = values.get("DefaultEndpointsProtocol", "https")
    suffix = values.get("EndpointSuffix", "core.windows.net")
    account, key = values.get("AccountName", ""), values.get("AccountKey")
    token = values.get("SharedAccessSignature")
    blob = values.get("BlobEndpoint") or f"{protocol}://{account}.blob.{suffix}"
    dfs = values.get("DfsEndpoint") or blob.replace(".blob.", ".dfs.")
    account = account or blob.partition("://")[2].partition(".")[0]
    if not account or not (key or token):
        reason = "AccountName=...;AccountKey=... or BlobEndpoint=...;SharedAccessSignature=..."
        raise ValueError(f"{_CONNECTION} must have {reason}")
    container, _, host = root.partition("://")[2].rpartition("@")
    if container and host.partition(".")[0] != account:
        return None
    if not container and "." in host:
        return None
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
    host = rest.partition("/")[0]
    return scheme, host.removeprefix(account)


def _open_s3(root: str, options: str, server: str) -> tuple["fs.FileSystem", str]:
    """Return the file system of a bucket, and the bucket."""
    from urllib.parse import parse_qsl  # not at the top: local files do not need it

    from pyarrow import fs

    bucket = root.removeprefix("s3://")
    values = dict(parse_qsl(options.removeprefix("?"), keep_blank_values=True))
    for name in values:
        if name not in _S3_OPTIONS:
            raise ValueError(f"{root}: option {name!r} must be one of {', '.join(_S3_OPTIONS)}")
    endpoint = values.pop("endpoint_override", server)
    scheme, has_scheme, host = endpoint.rpartition("://")
    arguments: dict[str, object] = dict(values)
    if has_scheme:
        arguments.setdefault("scheme", scheme)
    if host:
        arguments["endpoint_override"] = host.rstrip("/")
    elif "region" not in values:
        arguments["region"] = fs.resolve_s3_region(bucket)
    arguments["anonymous"] = values.get("anonymous", "").lower() == "true"
    system = fs.S3FileSystem(
        **arguments,
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_STALL_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=max_attempts()),
        background_writes=False,  # else a process with an unfinished upload hangs at its end
        allow_delayed_open=True,  # a small object takes one request, not three
    )
    return system, bucket
