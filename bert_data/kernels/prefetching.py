"""`prefetch`: has the processor fetch memory into its caches ahead of its use."""

from typing import Any

from bert_data.kernels.declaring import intrinsic


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Fetch the cache line at an address (int64), without waiting; no memory need be there."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        hints = [ir.Constant(number, value) for value in (0, 3, 1)]  # to read, all caches, data
        builder.call(function, [builder.inttoptr(arguments[0], byte), *hints])
        return context.get_dummy_value()

    return types.void(types.int64), generate
