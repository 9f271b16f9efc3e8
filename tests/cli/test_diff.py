"""The command's exit status, and its mistakes in one sentence."""

import json

import pytest

from tests.inspection.looking import instance
from tests.reader.making import write_shard

pytestmark = pytest.mark.process

INSTANCES = [instance("[CLS] the [MASK]=cat [SEP]")] * 3


@pytest.fixture
def folder(tmp_path):
    write_shard(tmp_path / "a", INSTANCES)
    write_shard(tmp_path / "padded", INSTANCES, "reference")
    write_shard(tmp_path / "other", [*INSTANCES[:2], instance("[CLS] dog [SEP]")])
    return tmp_path


def test_the_exit_status_says_whether_they_differ(folder, commands):
    equal = commands.well("diff", "--input_file=a", "--other_file=padded").stdout
    assert "The two are equal\n3 of 3 records are equal in order (100.0%)" in equal
    flags = ("--input_file=a", "--other_file=other")
    different = json.loads(commands.well("diff", *flags, "--json", status=1).stdout)
    assert different["first_difference"]["number"] == 2
    assert commands.well("diff", *flags, "--html=a.html", status=1).stdout == ""
    assert "record 2 is the first that differs" in (folder / "a.html").read_text()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--other_file=none"], "no file matches 'none'"),
        (["--other_file="], "--other_file is ''; it must name files"),
        ([], "missing: --other_file (see --help)"),
        (["--other_file=padded", "--html=padded", "--overwrite"], "output 'padded' is an input"),
    ],
)
def test_errors_have_status_two(commands, flags, sentence):
    assert commands.error("diff", "--input_file=a", *flags, status=2).startswith(sentence)
