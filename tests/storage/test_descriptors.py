"""Files that are open: no more than limits allow, none of what is gone, none in use is closed."""

import contextlib
import gc
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.storage import descriptors, map_file
from bert_data.storage.descriptors import FileInMemory, FileMaps, OpenFiles
from tests.descriptors import num_open
from tests.hypotheses import examples

NUM_FILES = 40


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("files")
    for number in range(NUM_FILES):
        (folder / str(number)).write_bytes(b"%d" % number)
    return [str(folder / str(number)) for number in range(NUM_FILES)]


@pytest.fixture(scope="module", autouse=True)
def quick_collections() -> Iterator[None]:
    """Leave what other tests' modules hold out of each collection of garbage."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def read(files: OpenFiles, number: int, size: int = 10, offset: int = 0) -> bytes:
    memory = bytearray(size)
    return bytes(memory[: files.read_into(number, memoryview(memory), offset)])


@examples(50)
@given(
    limit=st.integers(1, NUM_FILES),
    asked=st.lists(st.integers(0, NUM_FILES - 1), min_size=1, max_size=100),
)
def test_all_are_read_whatever_the_limit(paths: list[str], limit: int, asked: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descriptors, "_limit", lambda: limit)
        gc.collect()
        files, before = OpenFiles(paths), num_open(paths)
        for number in asked:
            assert read(files, number) == b"%d" % number
            assert num_open(paths) - before <= limit
        del files
        gc.collect()
        assert num_open(paths) == before


def test_a_range_is_read_as_far_as_the_file_goes(tmp_path: Path) -> None:
    content = bytes(range(200))
    (tmp_path / "file").write_bytes(content)
    files = OpenFiles([str(tmp_path / "file")])
    assert read(files, 0, 50, 70) == content[70:120]
    assert read(files, 0, 50, 190) == content[190:]
    assert read(files, 0, 50, 300) == b""


def test_what_is_in_use_stays_open(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "_limit", lambda: 2)
    one, two = OpenFiles(paths), OpenFiles(paths)
    preadv, read_meanwhile = os.preadv, []

    def slow(descriptor: int, buffers: list, offset: int) -> int:
        if not read_meanwhile:
            read_meanwhile.append(1)
            assert [read(two, n) for n in range(10)] == [b"%d" % n for n in range(10)]
        return preadv(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", slow)
    assert read(one, 3) == b"3" and read_meanwhile


ALL_TAKEN = """
import os, resource, sys
from bert_data.storage.descriptors import OpenFiles

files, others = OpenFiles(sys.argv[1:]), []
resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
def fail(call):
    try:
        call()
    except OSError as error:
        assert "Too many open files" in str(error)
    else:
        raise AssertionError
def take_all():
    while True:
        others.append(os.open(sys.argv[1], os.O_RDONLY))
fail(take_all)
fail(lambda: files.read_into(1, memoryview(bytearray(10)), 0))
os.close(others.pop())
for number in range(len(files.paths)):
    assert files.read_into(number, memoryview(bytearray(10)), 0) == len(str(number))
"""


@pytest.mark.process
def test_where_others_have_all_descriptors(paths: list[str], checkout: Path) -> None:
    """In a process of its own, where no other thread closes one."""
    subprocess.run([sys.executable, "-c", ALL_TAKEN, *paths], cwd=checkout, check=True)


@pytest.mark.process
def test_a_forked_child_opens_its_own(paths: list[str]) -> None:
    files = OpenFiles(paths)
    assert read(files, 5) == b"5"
    child = os.fork()
    if not child:
        os._exit(num_open(paths[5:6]) or read(files, 5) != b"5")
    assert os.waitpid(child, 0)[1] == 0


def test_a_file_that_is_not_there(paths: list[str], tmp_path: Path) -> None:
    files = OpenFiles([paths[0], str(tmp_path / "nothing")])
    with pytest.raises(FileNotFoundError) as caught:
        read(files, 1)
    assert caught.value.filename == files.paths[1]
    assert read(files, 0) == b"0"


@pytest.fixture
def few_allowed() -> Iterator[Callable[[int], None]]:
    """Sets how many descriptors this process may have; it may ask for all it had before."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda soft: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_more_files_are_mapped_than_a_shell_allows(paths, few_allowed):
    few_allowed(len(os.listdir("/proc/self/fd")) + 20)
    maps = [map_file(path) for path in paths]
    assert [mapped.data.tobytes() for mapped in maps] == [b"%d" % n for n in range(NUM_FILES)]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > num_open(paths) >= NUM_FILES


def test_too_many_maps_are_one_sentence(paths, few_allowed, monkeypatch):
    few_allowed(limit := len(os.listdir("/proc/self/fd")) + 20)
    monkeypatch.setattr(resource, "setrlimit", _refuse)
    with pytest.raises(OSError, match=rf"may have {limit:,}; `ulimit -n`") as caught:
        [map_file(path) for path in paths]
    assert caught.value.filename in paths
    monkeypatch.undo()


def _refuse(*_: object) -> None:
    raise ValueError("not allowed to raise maximum limit")


def mapped(path: Path) -> int:
    """Count the maps of a file in this process."""
    return Path("/proc/self/maps").read_text().count(str(path))


def map_part(maps: FileMaps, path: Path, num_bytes: int) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return maps.add(descriptor, num_bytes)
    finally:
        os.close(descriptor)


def test_maps_end_with_their_object_and_hold_no_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10_000)
    maps = FileMaps()
    addresses = [map_part(maps, path, num_bytes) for num_bytes in (10_000, 5_000)]
    assert addresses[0] % 4096 == addresses[1] % 4096 == 0
    assert mapped(path) == 2
    assert num_open([str(path)]) == 0
    del maps
    gc.collect()
    assert mapped(path) == 0


def test_no_bytes_have_no_address(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    assert map_part(FileMaps(), path, 0) == 0


def test_what_cannot_be_mapped_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such device"):
        map_part(FileMaps(), tmp_path, 10)


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
