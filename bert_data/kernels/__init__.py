"""`@kernel`: functions on arrays, compiled by numba once and kept on disk as machine code.

    @kernel
    def running_sum(values, total): ...      # arrays in, arrays out, no I/O, no configuration

    call -> types of the arguments -> machine code: in memory | on disk | numba compiles -> result

Kernels release the GIL, so threads run them in parallel. numba is imported only to compile: a
process that finds all its machine code on disk starts a third of a second sooner. Compiling takes
seconds and happens once, so the log says when it does.

Machine code is kept in `__pycache__` beside the kernel's source, in the user's cache folder if that
is not writable, or in the folder that BERT_DATA_CACHE_DIR names. It is compiled again when anything
changes that it depends on (the source file, the kernels it calls, the constants it reads, numba,
the processor), when its file is damaged, and when another user could have written that file.

declaring.py    `@inner` and `@intrinsic`: what kernels are made of and depend on
calling.py      `@kernel`: what Python calls; the numbers by which arguments are passed
compiling.py    numba: from Python to machine code
machine_code.py LLVM: from machine code to a function
keeping.py      machine code on disk
crc32c.py       a kernel that all parts share: checksums of records and files
"""

from bert_data.kernels.calling import Constants, clock, kernel
from bert_data.kernels.declaring import Scalar, inner, intrinsic
