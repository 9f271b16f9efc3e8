"""A disk that is full, for the process that runs a test."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full_disk(num_bytes: int) -> Iterator[None]:
    """No file can grow beyond a size meanwhile: writing more fails with EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
