"""The types of arguments for which kernels are compiled before the tests begin."""

import numpy as np
import pytest

from bert_data.kernels.calling import type_of
from bert_data.kernels.keeping import CACHE_DIR_VARIABLE
from tests.kernels.signatures import compile_all, describe, example, find_kernels, fits, read


@pytest.mark.parametrize("layout", ["C", "F", "A"])
@pytest.mark.parametrize("end", ["", " constant", " unaligned", " constant unaligned"])
def test_arrays_of_every_arrangement(layout: str, end: str) -> None:
    kind = f"int32[2] {layout}{end}"
    assert describe(type_of(example(kind))) == kind


def test_numbers_and_tuples() -> None:
    arguments = (1, 1.5, True, np.uint8(3), (np.zeros(3), (2,)))
    described = describe(type_of(arguments))
    assert type_of(example(described)) == type_of(arguments)


def test_what_is_listed_is_compiled_and_kept(tmp_path, monkeypatch) -> None:
    """A kernel that has gone since is told."""
    monkeypatch.setenv(CACHE_DIR_VARIABLE, str(tmp_path))
    module = "bert_data.curation.hash_tables"
    ((name, kinds), *_) = [
        (each.partition(":")[2], kinds[0]) for each, kinds in read().items() if module in each
    ]
    told = compile_all(module, [("gone", []), (name, kinds)])
    assert told == [f"{module}:gone: AttributeError"]
    (kept,) = tmp_path.rglob("*.kernel")
    before = kept.stat()
    assert compile_all(module, [(name, kinds)]) == []
    after = kept.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_is_listed_is_there() -> None:
    """But for a few, which the tests compile; record them again, see signatures.py."""
    kernels = find_kernels()
    listed = [(name, kinds) for name, known in read().items() for kinds in known]
    gone = {n for n, kinds in listed if n not in kernels or not fits(kernels[n], kinds)}
    assert len(listed) > 100 and len(gone) < 10, gone
