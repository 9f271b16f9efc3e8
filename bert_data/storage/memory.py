"""How much memory a process may have, by the system's files and limits."""

import contextlib
import functools
import os
import resource

_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
# Of the container, or the group of processes, in either version of Linux's control groups.
_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@functools.cache
def allowed_memory() -> int:
    """Return the bytes that this process may have: those of the machine, or fewer by a limit."""
    allowed = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    soft_limits = [resource.getrlimit(limit)[0] for limit in _LIMITS]
    allowed += [soft for soft in soft_limits if soft != resource.RLIM_INFINITY]
    for path in _FILES:
        with contextlib.suppress(OSError, ValueError), open(path) as file:  # "max": no limit
            allowed.append(int(file.read()))
    return min(allowed)
