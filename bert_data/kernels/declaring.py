"""What kernels are made of: functions that numba compiles, with the stamp of all they depend on."""

from collections.abc import Callable
from typing import Any

from bert_data.kernels.stamps import make_stamp

Scalar = Any
"""A whole number that a kernel computes with: `int` to a caller, 64 bits in the kernel."""


class Declared:
    """A function that kernels can call.

    Attributes:
      py_func: the function as written.
      stamp: hex digest of what its machine code depends on.
      is_intrinsic: whether it writes LLVM's instructions itself.
      numba_object: what numba knows it by; None until something that calls it is compiled.
    """

    def __init__(self, function: Callable[..., Any], *, is_intrinsic: bool = False) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.py_func = function
        self.stamp = make_stamp(function)
        self.is_intrinsic = is_intrinsic
        self.numba_object: Any = None


def inner(function: Callable[..., Any]) -> Any:
    """Declares a part of kernels that only kernels can call; tests call its `py_func`."""
    return Declared(function)


def intrinsic(function: Callable[..., Any]) -> Any:
    """Declares a part of kernels that writes LLVM's instructions, as numba's `intrinsic` does.

    Args:
      function: (typing context, types of the arguments) -> (signature, code generator). It imports
        what it needs of numba inside.
    """
    return Declared(function, is_intrinsic=True)
