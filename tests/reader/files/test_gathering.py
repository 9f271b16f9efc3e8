"""Ranges that the system copies from maps are the bytes of the files, or it says otherwise."""

import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.kernels import kernel
from bert_data.reader.files.gathering import PWRITEV, copy_ranges
from bert_data.reader.layout import new_file
from bert_data.storage.descriptors import FileMaps

CONTENT = np.random.default_rng(1).integers(0, 256, 20_000, np.uint8)


@kernel
def copy(function, target, ranges, offset):  # type: ignore[no-untyped-def]
    return copy_ranges(function, target, ranges, offset)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(CONTENT.tobytes())
    return tmp_path / "file"


def test_ranges_are_copied_while_the_file_has_them(path: Path) -> None:
    maps = FileMaps()
    with path.open("rb") as file:
        address = maps.add(file.fileno(), CONTENT.size)
    ranges = np.array([(address + 16_000, 3000), (address + 1, 0), (address + 7, 2000)])
    data, descriptor = new_file(6000)
    assert copy(PWRITEV, descriptor, ranges, 500)
    expected = np.concatenate((CONTENT[16_000:19_000], CONTENT[7:2007]))
    assert (data[500:5500] == expected).all()
    os.truncate(path, 8192)
    assert not copy(PWRITEV, descriptor, ranges, 0)
    assert copy(PWRITEV, descriptor, ranges[1:], 0)
    assert (data[:2000] == CONTENT[7:2007]).all()
    assert not copy(PWRITEV, 2**30, ranges[1:], 0)
