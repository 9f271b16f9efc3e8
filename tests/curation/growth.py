"""Whether time grows with the length of a text, and not with its square."""

import time
from collections.abc import Callable

_TRIES = 6


def assert_linear(work: Callable[[str], object], part: str, num_parts: int = 4_000) -> None:
    """Asserts that 8 times the text takes clearly less than 64 times as long.

    The bound is generous, a constant is allowed for, and one try of several that keeps it is
    enough: other work on the machine only ever adds time, and a quadratic search takes its 64
    times in every try.
    """
    work(part)

    def seconds(parts: int) -> float:
        text = part * parts
        start = time.process_time()
        work(text)
        return time.process_time() - start

    short = min(seconds(num_parts) for _ in range(2))
    assert any(seconds(8 * num_parts) < 28 * (short + 0.004) for _ in range(_TRIES))
