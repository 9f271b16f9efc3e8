"""Fetches instances from memory ahead of their use, as they are read in a shuffled order.

    instance i + 16: its row     instance i + 8: the tokens that its row points to     i: in use

Processors cannot foresee such an order, and waiting for memory costs more than the work.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, intrinsic

_AHEAD = 8
_LINE_WORDS, _LINE_IDS = 16, 32  # of a cache line


@intrinsic
def _prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Prefetch the cache line of array[place], which may be out of bounds, without waiting."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(function, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@inner
def _prefetch_tokens(row: NDArray[np.uint32], ids: NDArray[np.integer]) -> None:
    """Prefetch the tokens of an instance, which may be anywhere in the store."""
    for half in range(2):
        begin = np.int64(row[2 * half]) | np.int64(row[2 * half + 1]) << 32
        for line in range(2):
            _prefetch(ids, begin + _LINE_IDS * line)


@inner
def prefetch_instances(
    rows: NDArray[np.uint32], order: NDArray[np.uint32], i: Scalar, ids: NDArray[np.integer]
) -> None:
    """Prefetch what comes after instance i of an order: a row, and the tokens of one before it.

    Args:
      rows: uint32[any, words], see `bert_data.objectives.rows`.
      order: uint32[instances], the rows in the order in which they are used.
      i: in [0, instances).
      ids: uint16 or int32[tokens] that the rows point into.
    """
    last = order.size - 1
    row = rows[order[min(i + 2 * _AHEAD, last)]]
    for word in range(0, row.size, _LINE_WORDS):
        _prefetch(row, word)
    _prefetch_tokens(rows[order[min(i + _AHEAD, last)]], ids)
