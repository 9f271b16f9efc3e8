"""Describes the machine on which a table of figures was made."""

import os
import platform
import sys
from pathlib import Path


def describe_machine() -> str:
    """One line: processor, cores, memory, Python."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    cores = len(os.sched_getaffinity(0))
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Machine: {model}, {cores} cores, {memory_gb:.0f} GB; Python {python}"
