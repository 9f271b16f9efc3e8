"""Arrays in kernels that take any number of arrays of any types: by their addresses.

    table[key] = values.ctypes.data    ->    int32s_at(table[key], size)[i]    inside the kernel

A kernel is compiled once for each combination of its arguments' types; a table of addresses has one
type whatever it points to. The caller keeps the arrays alive, contiguous and as long as it says.
"""

from typing import Any

from bert_data.kernels import intrinsic


def _array_at(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """An array of the signature's type, at an address, of a number of values."""
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


@intrinsic
def bytes_at(typing_context: Any, address: Any, size: Any) -> Any:
    """uint8[size] at an address (int64)."""
    from numba import types

    return types.Array(types.uint8, 1, "C")(types.int64, types.int64), _array_at


@intrinsic
def int32s_at(typing_context: Any, address: Any, size: Any) -> Any:
    """int32[size] at an address (int64)."""
    from numba import types

    return types.Array(types.int32, 1, "C")(types.int64, types.int64), _array_at


@intrinsic
def int64s_at(typing_context: Any, address: Any, size: Any) -> Any:
    """int64[size] at an address (int64)."""
    from numba import types

    return types.Array(types.int64, 1, "C")(types.int64, types.int64), _array_at
