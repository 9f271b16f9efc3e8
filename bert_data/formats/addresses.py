"""Arrays in kernels that take any number of arrays of any types: by their addresses.

    table[key] = values.ctypes.data    ->    int32s_at(table[key], size)[i]    inside the kernel

A kernel is compiled once for each combination of its arguments' types; a table of addresses has one
type whatever it points to. The caller keeps the arrays alive, contiguous and as long as it says.
"""

from typing import Any

from bert_data.kernels import intrinsic


def _array_intrinsic(dtype: str) -> Any:
    """Return an intrinsic: (address int64, size int64) -> array of `size` values of a dtype."""

    @intrinsic
    def array_at(typing_context: Any, address: Any, size: Any) -> Any:
        from numba import types

        kind = types.Array(getattr(types, dtype), 1, "C")
        return kind(types.int64, types.int64), _make_array

    return array_at


def _make_array(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    from numba.core import cgutils

    address, size = arguments
    kind = signature.return_type
    value_type = context.get_data_type(kind.dtype)
    item_bytes = size.type(context.get_abi_sizeof(value_type))
    array = context.make_array(kind)(context, builder)
    array.data = builder.inttoptr(address, value_type.as_pointer())
    array.itemsize, array.nitems = item_bytes, size
    array.shape = cgutils.pack_array(builder, [size])
    array.strides = cgutils.pack_array(builder, [item_bytes])
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


bytes_at, int32s_at, int64s_at = map(_array_intrinsic, ("uint8", "int32", "int64"))
