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

from bert_data.storage import map_file
from bert_data.storage.descriptors import FileInMemory, FileMaps, OpenFiles, Pool
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


def read_all(files: OpenFiles, numbers: list[int]) -> dict[int, bytes]:
    content: dict[int, bytes] = {}
    left = numbers
    while left:
        with files.some(left) as opened:
            assert opened and opened.keys() <= set(left)
            content |= {number: os.pread(opened[number], 10, 0) for number in opened}
        left = [number for number in left if number not in opened]
    return content


@examples(50)
@given(
    limit=st.integers(1, NUM_FILES),
    asked=st.lists(st.sets(st.integers(0, NUM_FILES - 1), min_size=1), min_size=1, max_size=5),
)
def test_all_are_read_whatever_the_limit(paths: list[str], limit: int, asked: list) -> None:
    gc.collect()
    files, before = OpenFiles(paths, Pool(lambda: limit)), num_open(paths)
    for numbers in asked:
        expected = {number: b"%d" % number for number in numbers}
        assert read_all(files, sorted(numbers)) == expected
        assert num_open(paths) - before <= limit
    del files
    gc.collect()
    assert num_open(paths) == before


def test_what_is_in_use_stays_open(paths: list[str]) -> None:
    pool = Pool(lambda: 2)
    one, two = OpenFiles(paths, pool), OpenFiles(paths, pool)
    with one.some([3, 4]) as opened:
        assert sorted(opened) == [3, 4]
        assert read_all(two, list(range(10))) == {number: b"%d" % number for number in range(10)}
        assert [os.pread(opened[number], 10, 0) for number in (3, 4)] == [b"3", b"4"]


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
fail(files.some([1]).__enter__)
os.close(others.pop())
left = list(range(len(files.paths)))
while left:
    with files.some(left) as opened:
        left = [number for number in left if number not in opened]
"""


@pytest.mark.process
def test_where_others_have_all_descriptors(paths: list[str], checkout: Path) -> None:
    """In a process of its own, where no other thread closes one."""
    subprocess.run([sys.executable, "-c", ALL_TAKEN, *paths], cwd=checkout, check=True)


def test_a_file_that_is_not_there(paths: list[str], tmp_path: Path) -> None:
    files = OpenFiles([paths[0], str(tmp_path / "nothing")])
    with pytest.raises(FileNotFoundError), files.some([0, 1]):
        pass
    assert read_all(files, [0]) == {0: b"0"}


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
