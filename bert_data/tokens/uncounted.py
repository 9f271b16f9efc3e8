"""Kernels that do not count references to their arrays.

numba counts a reference up and down, atomically, wherever an array or a tuple of arrays is passed
on or a part of it is named. A kernel that only reads and writes the arrays it was given, and makes
none, needs no counts: its callers hold the arrays. The tokenizer's kernels, which are many small
parts, run two to four times as fast without, and threads do not contend for the counters.

    @uncounted
    @kernel
    def tokenize_lines(...): ...
"""

from typing import Any


def uncounted(dispatcher: Any) -> Any:
    """Switches the counting off for a kernel, or a part of one, that makes no arrays.

    Args:
      dispatcher: what `kernel` or `inner` returned, before its first call.
    """
    dispatcher.targetoptions["_nrt"] = False  # numba's own name of its run-time for references
    return dispatcher
