"""A disk that fails in reading or writing: one error with the file, and nothing half-made."""

import errno
import os
from pathlib import Path

import pytest

from bert_data.inspection.configs import SourceConfig
from bert_data.inspection.sources.opening import open_source
from bert_data.storage import open_input
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.full_disk import full_disk

BROKEN = "/proc/self/mem"  # address 0 cannot be read: EIO, as of a damaged disk


@pytest.fixture(params=["a.txt", "a.jsonl", "a.parquet"])
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if not os.path.exists(BROKEN):
        pytest.skip(f"needs {BROKEN}")
    (tmp_path / request.param).symlink_to(BROKEN)
    return str(tmp_path / request.param)


def tokenize(text: str, folder: Path, vocabulary: Path) -> None:
    config = StoreConfig(
        input_file=text, output_prefix=f"{folder}/out/s", vocab_file=str(vocabulary), num_workers=1
    )
    make_stores(config)


def test_input_that_cannot_be_read(broken: str, tmp_path: Path, small_vocabulary: Path) -> None:
    with pytest.raises(OSError, match="Input/output") as caught:
        tokenize(broken, tmp_path, small_vocabulary)
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, broken)
    assert not (tmp_path / "out").exists()


def test_looking_at_what_cannot_be_read(broken: str) -> None:
    with pytest.raises(OSError, match="Input/output") as caught:
        list(open_source(SourceConfig(input_file=broken)).stream())
    assert caught.value.filename == broken
    with open_input(broken, buffering=0) as file, pytest.raises(OSError, match=broken):
        file.read(4)


@pytest.mark.parametrize("num_bytes", [0, 100, 400])
def test_stores_that_cannot_be_written(
    num_bytes: int, tmp_path: Path, small_text: Path, small_vocabulary: Path
) -> None:
    with full_disk(num_bytes), pytest.raises(OSError, match="File too large") as caught:
        tokenize(str(small_text), tmp_path, small_vocabulary)
    assert str(caught.value.filename).startswith(str(tmp_path))
    assert not (tmp_path / "out").exists()
    tokenize(str(small_text), tmp_path, small_vocabulary)
    assert len(list((tmp_path / "out").iterdir())) >= 3
