"""Bytes of every format and orders of every batching, as they were in earlier versions."""

from pathlib import Path

import pytest

from tests.goldens.outputs import (
    COMMANDS,
    ORDERS,
    digest_of_batches,
    digest_of_file,
    run_command,
    write_inputs,
)
from tests.goldens.reading import load_goldens

GOLDENS = load_goldens("outputs.json")
pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Path:
    """A folder in which all commands have run."""
    path = tmp_path_factory.mktemp("outputs")
    write_inputs(path)
    for command in COMMANDS:
        run_command(checkout, path, command)
    return path


def test_files_have_their_bytes(folder: Path) -> None:
    digests = {path.name: digest_of_file(path) for path in folder.iterdir() if path.is_file()}
    assert {name: digests.get(name) for name in GOLDENS["files"]} == GOLDENS["files"]


@pytest.mark.parametrize("name", ORDERS)
def test_batches_have_their_order(folder: Path, name: str) -> None:
    assert digest_of_batches(folder, name) == GOLDENS["batches"][name]
