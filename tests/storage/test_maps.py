"""Maps for the system: it copies from them, and they end with their object."""

import contextlib
import gc
import os
from pathlib import Path

import pytest

from bert_data.storage.maps import FileInMemory, FileMaps
from tests.descriptors import num_open


def mapped(path: Path) -> int:
    """Count the maps of a file in this process."""
    return Path("/proc/self/maps").read_text().count(str(path))


def map_file(maps: FileMaps, path: Path, num_bytes: int) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return maps.add(descriptor, num_bytes)
    finally:
        os.close(descriptor)


def test_maps_end_with_their_object_and_hold_no_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10_000)
    maps = FileMaps()
    addresses = [map_file(maps, path, num_bytes) for num_bytes in (10_000, 5_000)]
    assert addresses[0] % 4096 == addresses[1] % 4096 == 0
    assert mapped(path) == 2
    assert num_open([str(path)]) == 0
    del maps
    gc.collect()
    assert mapped(path) == 0


def test_no_bytes_have_no_address(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    assert map_file(FileMaps(), path, 0) == 0


def test_what_cannot_be_mapped_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such device"):
        map_file(FileMaps(), tmp_path, 10)


def test_a_file_in_memory_goes_with_its_object() -> None:
    file = FileInMemory(8192)
    own = os.stat(file.descriptor)
    assert os.pwrite(file.descriptor, b"here", 8000) == 4
    assert file.memory[8000:8004] == b"here"
    del file
    gc.collect()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # of another thread, which has closed it
            assert not os.path.samestat(os.stat(f"/proc/self/fd/{number}"), own)
