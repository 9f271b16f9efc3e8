"""The archives that pip installs have the right files, and so have their installations."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]

NOT_SOURCE = shutil.ignore_patterns(
    ".git*", ".venv*", ".*cache", ".hypothesis", "__pycache__", "*.egg-info", "*.py[co]", "build",
    "corpus_output", "demo_output", "dist", "site",
)  # fmt: skip


@pytest.fixture(scope="module")
def archives(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[set[str], set[str], set[str]]:
    """Return the files of the checkout, of its source distribution, and of its wheel."""
    folder = tmp_path_factory.mktemp("packaging")
    source = folder / "source"
    shutil.copytree(checkout, source, ignore=NOT_SOURCE)
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    code = "from setuptools import build_meta as b; b.build_sdist('dist'); b.build_wheel('dist')"
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True)
    (sdist,) = (source / "dist").glob("*.tar.gz")
    (wheel,) = (source / "dist").glob("*.whl")
    with tarfile.open(sdist) as archive:
        of_sdist = {each.name.partition("/")[2] for each in archive if each.isfile()}
    with zipfile.ZipFile(wheel) as archive:
        of_wheel = set(archive.namelist())
    return files, of_sdist, of_wheel


def test_the_source_distribution_has_every_file(
    archives: tuple[set[str], set[str], set[str]],
) -> None:
    files, of_sdist, _ = archives
    assert files - of_sdist == set()
    added = {name for name in of_sdist - files if not name.startswith("bert_data.egg-info/")}
    assert added == {"PKG-INFO"}


def test_the_wheel_has_only_the_package(archives: tuple[set[str], set[str], set[str]]) -> None:
    files, _, of_wheel = archives
    of_package = {name for name in files if name.startswith("bert_data/")}
    assert of_package - of_wheel == set()
    assert {name.partition("/")[0].partition("-")[0] for name in of_wheel} == {"bert_data"}
