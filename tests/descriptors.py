"""Descriptors by what they lead to, as a test owns files, but not all that its process has open."""

import contextlib
import os
from collections.abc import Container


def num_open(paths: Container[str]) -> int:
    """Count the descriptors of this process that lead to some files; maps of Python keep one each.

    Other threads may open and close theirs meanwhile.
    """
    links = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(link in paths for link in links)
