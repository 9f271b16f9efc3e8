"""`@kernel`: functions on arrays, compiled by numba once and kept on disk as machine code.

    @kernel
    def running_sum(values, total): ...      # arrays in, arrays out, no I/O, no configuration

    call -> types of the arguments -> machine code: in memory | on disk | numba compiles -> result

A kernel releases the GIL, so threads run kernels in parallel. numba is imported only to compile: a
process that finds all its machine code on disk starts a third of a second sooner. Compiling takes
seconds and happens once, so the log says when it does.

The machine code is in `__pycache__` beside the kernel's source, or in the user's cache folder where
that cannot be written, or in the folder that BERT_DATA_CACHE_DIR names. It is compiled again when
anything changes that it depends on: the source file, the kernels it calls, the constants it reads,
numba, the processor; and when a file is damaged, or somebody else could have written it.

declaring.py    `@inner` and `@intrinsic`: what kernels are made of; stamps.py: what they depend on
calling.py      `@kernel`: what Python calls
arguments.py    the numbers that arguments are passed as
compiling.py    numba: from Python to machine code
machine_code.py LLVM: from machine code to a function
keeping.py      machine code on disk
"""

from bert_data.kernels.calling import kernel
from bert_data.kernels.declaring import Scalar, inner, intrinsic

__all__ = ["Scalar", "inner", "intrinsic", "kernel"]
