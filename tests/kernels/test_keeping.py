"""Machine code on disk: only what is whole, and what nobody else can have written, is loaded."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bert_data.kernels import keeping
from bert_data.kernels.keeping import CACHE_DIR_VARIABLE, Shelf
from bert_data.kernels.machine_code import MachineCode
from bert_data.storage.paths import new_token, writing_path

TYPES = "int64"
CODE = MachineCode(
    object_code=b"\x7fELF\n\x00code", symbol="f", unreachable=("NRT_x",), result="q", is_tuple=False
)
NOBODY = 65534


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv(CACHE_DIR_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def shelf(cache) -> Shelf:
    return Shelf("/sources/pairing.py", "make_rows", "5" * 64)


@pytest.fixture
def kept(cache, shelf) -> Path:
    """The only file of a cache."""
    shelf.keep(TYPES, CODE)
    (path,) = cache.rglob("*.kernel")
    return path


def test_what_is_kept_is_found(kept, shelf):
    assert shelf.find(TYPES) == CODE
    assert kept.name.startswith("pairing.make_rows-5555555555555555-")


def test_only_machine_code_of_earlier_sources_is_removed(cache, shelf, tmp_path):
    Shelf("/sources/pairing.py", "make_rows", "4" * 64).keep(TYPES, CODE)
    (earlier,) = cache.rglob("*.kernel")
    theirs = [
        earlier.with_name(f"pairing.make_rows-{name}.kernel")
        for name in ("notes", f"{'4' * 16}-{'g' * 16}", f"{'4' * 16}-{'1' * 17}")
    ]
    for path in theirs:
        path.write_bytes(b"precious")
    link, folder = (earlier.with_name(earlier.name.replace("4" * 16, digit * 16)) for digit in "36")
    (tmp_path / "theirs").mkdir()
    link.symlink_to(tmp_path / "theirs")
    folder.mkdir()
    shelf.keep(TYPES, CODE)
    assert not earlier.exists() and link.is_symlink() and folder.is_dir()
    assert all(path.read_bytes() == b"precious" for path in theirs)


def test_every_flipped_bit_is_noticed(kept, shelf):
    content = kept.read_bytes()
    for at in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            kept.write_bytes(damaged)
            assert shelf.find(TYPES) is None, (at, bit)
    kept.write_bytes(content)
    assert shelf.find(TYPES) == CODE


def test_every_missing_or_additional_end_is_noticed(kept, shelf):
    content = kept.read_bytes()
    for size in range(len(content)):
        kept.write_bytes(content[:size])
        assert shelf.find(TYPES) is None, size
    kept.write_bytes(content + b"\0")
    assert shelf.find(TYPES) is None


def test_a_file_under_the_name_of_another_is_not_loaded(kept, shelf):
    shelf.keep("float64", CODE)
    (other,) = set(kept.parent.glob("*.kernel")) - {kept}
    kept.rename(other)
    assert shelf.find("float64") is None


@pytest.mark.parametrize("place", ["file", "folder"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_may_write_is_not_loaded(kept, shelf, place, mode):
    path = kept if place == "file" else kept.parent
    path.chmod(path.stat().st_mode | mode)
    assert shelf.find(TYPES) is None
    path.chmod(path.stat().st_mode & ~mode)
    assert shelf.find(TYPES) == CODE


@pytest.mark.parametrize("place", ["file", "folder"])
def test_what_belongs_to_another_user_is_not_loaded(kept, shelf, place, monkeypatch):
    path = kept if place == "file" else kept.parent
    if os.geteuid() == 0:
        os.chown(path, NOBODY, -1)
    else:  # the other way round: this process is somebody else, and root's are trusted
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert shelf.find(TYPES) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_root_is_loaded_by_everybody(kept, shelf, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert shelf.find(TYPES) == CODE


def test_nothing_is_kept_where_others_may_write(kept, shelf, caplog):
    kept.unlink()
    kept.parent.chmod(0o777)
    shelf.keep(TYPES, CODE)
    assert list(kept.parent.iterdir()) == []


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077])
def test_what_is_kept_under_any_umask_is_found(shelf, mask):
    before = os.umask(mask)
    try:
        shelf.keep(TYPES, CODE)
    finally:
        os.umask(before)
    assert shelf.find(TYPES) == CODE


def test_machine_code_for_another_processor_or_llvm_is_not_found(kept, shelf, monkeypatch):
    monkeypatch.setattr(keeping, "processor", lambda: "another")
    assert shelf.find(TYPES) is None
    shelf.keep(TYPES, CODE)
    assert len(list(kept.parent.iterdir())) == 2


def test_an_earlier_source_and_a_killed_run_leave_nothing(cache, kept):
    Path(writing_path(kept, new_token())).write_bytes(b"half")
    Shelf("/sources/pairing.py", "make_rows", "6" * 64).keep(TYPES, CODE)
    (path,) = (path for path in kept.parent.iterdir())
    assert "6666666666666666" in path.name


@pytest.mark.parametrize("limit", [0, 20])
def test_a_full_disk(cache, shelf, limit):
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        shelf.keep(TYPES, CODE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    shelf.keep(TYPES, CODE)
    assert shelf.find(TYPES) == CODE


def test_a_home_that_cannot_be_written_is_another_place_less(tmp_path, monkeypatch):
    monkeypatch.delenv(CACHE_DIR_VARIABLE, raising=False)
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    shelf = Shelf(str(tmp_path / "file" / "pairing.py"), "make_rows", "5" * 64)
    shelf.keep(TYPES, CODE)
    assert shelf.find(TYPES) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shelf.keep(TYPES, CODE)
    assert shelf.find(TYPES) == CODE


KILLED = """
import os, signal
from tests.kernels.test_keeping import CODE, TYPES
from bert_data.kernels.keeping import Shelf

os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Shelf("/sources/pairing.py", "make_rows", "5" * 64).keep(TYPES, CODE)
"""


@pytest.mark.process
def test_killed_while_it_writes(cache, shelf, checkout):
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=checkout)
    assert done.returncode == -signal.SIGKILL
    assert shelf.find(TYPES) is None
    assert any(path.is_file() for path in cache.rglob(".*"))
    shelf.keep(TYPES, CODE)
    assert shelf.find(TYPES) == CODE
    assert not any(path.is_file() for path in cache.rglob(".*"))


WAITING = """
import fcntl, sys
from tests.kernels.test_keeping import TYPES
from bert_data.kernels.keeping import Shelf

take = fcntl.flock
fcntl.flock = lambda *arguments: (print("asks", flush=True), take(*arguments))
shelf = Shelf(sys.argv[1], "make_rows", "5" * 64)
with shelf.compiling():
    print(shelf.find(TYPES) is not None, flush=True)
"""


@pytest.mark.process
def test_a_process_waits_for_the_code_that_another_compiles(cache, tmp_path, checkout):
    source = tmp_path / "pairing.py"
    source.write_text("")
    shelf = Shelf(str(source), "make_rows", "5" * 64)
    with shelf.compiling():
        command = [sys.executable, "-c", WAITING, str(source)]
        other = subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "asks\n"
        shelf.keep(TYPES, CODE)
    said, _ = other.communicate()
    assert "True" in said.splitlines()
