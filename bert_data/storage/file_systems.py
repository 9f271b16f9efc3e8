"""The file systems of URIs, by pyarrow.fs.

    resolve("s3://bucket/text/a.txt") -> S3FileSystem, "bucket/text/a.txt"

A key is used literally: %20 is three characters. Credentials are found as the file system's own
library finds them. For S3, the endpoint of a compatible server is AWS_ENDPOINT_URL_S3 or
AWS_ENDPOINT_URL in the environment, or in the URI's options, as in
"s3://bucket/a.txt?endpoint_override=localhost:9000&scheme=http"; AWS_MAX_ATTEMPTS says how often a
request that fails is sent.
"""

import functools
import os
from typing import TYPE_CHECKING

from bert_data import forced_end
from bert_data.storage.attempts import max_attempts
from bert_data.storage.paths import Path, Uri, split_uri

if TYPE_CHECKING:
    from pyarrow import fs

SCHEMES = ("file", "s3", "gs", "abfs", "abfss", "hdfs")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
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
    endpoint = next(filter(None, map(os.environ.get, _ENDPOINTS)), "")
    system, base = _file_system(parts.root, parts.scheme, parts.options, endpoint)
    return system, f"{base.rstrip('/')}/{parts.key}"


def split_known(path: Path) -> Uri:
    """Return the parts of a URI.

    Raises:
      ValueError: its scheme is unknown.
    """
    parts = split_uri(path)
    if parts is None or parts.scheme not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ValueError(
            f"{os.fspath(path)!r} is not a supported path; use a local path or {known}"
        )
    return parts


@functools.lru_cache
def _file_system(
    root: str, scheme: str, options: str, endpoint: str
) -> tuple["fs.FileSystem", str]:
    from pyarrow import ArrowInvalid, fs

    if scheme == "s3":
        return _open_s3(root, options, endpoint)
    if scheme == "gs" and "retry_limit_seconds" not in options:
        options += ("&" if options else "?") + f"retry_limit_seconds={_GS_RETRY_SECONDS}"
    try:
        return fs.FileSystem.from_uri(f"{root}/{options}")
    except ArrowInvalid as error:
        raise ValueError(f"{root!r} cannot be used: {' '.join(str(error).split())}") from error


def _open_s3(root: str, options: str, endpoint: str) -> tuple["fs.FileSystem", str]:
    """Return the file system of a bucket, and the bucket."""
    from urllib.parse import parse_qsl, unquote  # not at the top: local files need neither

    from pyarrow import fs

    user, _, bucket = root.removeprefix("s3://").rpartition("@")
    values = dict(parse_qsl(options.removeprefix("?"), keep_blank_values=True))
    for name in values:
        if name not in _S3_OPTIONS:
            raise ValueError(f"{root}: option {name!r} must be one of {', '.join(_S3_OPTIONS)}")
    endpoint = values.pop("endpoint_override", endpoint)
    scheme, has_scheme, host = endpoint.rpartition("://")
    arguments: dict[str, object] = dict(values)
    if has_scheme:
        arguments.setdefault("scheme", scheme)
    if host:
        arguments["endpoint_override"] = host.rstrip("/")
    elif "region" not in values:
        arguments["region"] = fs.resolve_s3_region(bucket)
    if user:
        key, _, secret = user.partition(":")
        arguments |= {"access_key": unquote(key), "secret_key": unquote(secret)}
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
