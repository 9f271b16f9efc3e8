"""Kernels that read and copy ranges give the bytes of the files, or say that these have fewer."""

import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.kernels import kernel
from bert_data.reader.files.gathering import PREAD, PWRITEV, copy_ranges, read_range
from bert_data.reader.layout import new_file
from bert_data.storage.descriptors import FileMaps

CONTENT = np.random.default_rng(1).integers(0, 256, 20_000, np.uint8)


@kernel
def read(function, file, data, at, size, offset):  # type: ignore[no-untyped-def]
    return read_range(function, file, data, at, size, offset)


@kernel
def copy(function, target, ranges, offset):  # type: ignore[no-untyped-def]
    return copy_ranges(function, target, ranges, offset)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(CONTENT.tobytes())
    return tmp_path / "file"


def test_a_range_is_read_as_far_as_the_file_goes(path: Path) -> None:
    data = np.zeros(100, np.uint8)
    with path.open("rb") as file:
        assert read(PREAD, file.fileno(), data, 20, 50, 7000) == (50, False)
        assert (data[20:70] == CONTENT[7000:7050]).all()
        assert not data[:20].any() and not data[70:].any()
        assert read(PREAD, file.fileno(), data, 0, 50, 19_990) == (10, False)
    assert read(PREAD, 2**30, data, 0, 50, 0) == (0, True)


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
