"""`s3://`: Amazon S3, and servers that speak its protocol."""

import re
from typing import TYPE_CHECKING

from bert_data.progress import how_many
from bert_data.storage.file_systems import Failure, ObjectStore, curl_failure
from bert_data.storage.paths import Uri
from bert_data.storage.remote_files import LOST_REASON, max_attempts

if TYPE_CHECKING:
    from pyarrow import fs

_OPTIONS = ("endpoint_override", "scheme", "region", "anonymous", "tls_ca_file_path")
_CONNECT_SECONDS = 5.0
STALL_SECONDS = 15.0  # without a byte
_ERROR = re.compile(r"AWS Error (?P<name>\w+)(?: \((?P<status>HTTP status 5\d\d)\))?")
_NO_BODY = "HTTP status 400"  # the answer to a HEAD has a status, but not the reason


class S3(ObjectStore):
    """S3."""

    servers = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    takes_user = False
    hides_unfinished = True
    most_copied_bytes = 5_000_000_000.0  # by one request

    def open(self, uri: Uri, server: str) -> "tuple[fs.FileSystem, str]":
        """Return the file system of a bucket, and the bucket."""
        from urllib.parse import parse_qsl  # not at the top: local files do not need it

        from pyarrow import fs

        bucket = uri.root.removeprefix("s3://")
        values = dict(parse_qsl(uri.options.removeprefix("?"), keep_blank_values=True))
        for name in values:
            if name not in _OPTIONS:
                known = ", ".join(_OPTIONS)
                raise ValueError(f"{uri.root}: option {name!r} must be one of {known}")
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
            request_timeout=STALL_SECONDS,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=max_attempts()),
            background_writes=False,  # else a process with an unfinished upload hangs at its end
            allow_delayed_open=True,  # a small object takes one request, not three
        )
        return system, bucket

    def place(self, uri: Uri) -> str:
        """Return bucket, key and endpoint."""
        endpoint = re.search(r"[?&]endpoint_override=([^&]*)", uri.options)
        return super().place(uri) + (endpoint[0] if endpoint else "")

    def hides_reason(self, text: str) -> bool:
        """Whether the reason of an error is lost, which a request with a longer answer tells."""
        return _NO_BODY in text or LOST_REASON in text

    def failure(self, text: str) -> Failure | None:
        """Return what an error means."""
        tried = f"in {how_many(max_attempts(), 'attempt')}"
        if lost := curl_failure(text, tried):
            return lost
        match = _ERROR.search(text)
        return Failure(match["status"] or match["name"], tried) if match else None
