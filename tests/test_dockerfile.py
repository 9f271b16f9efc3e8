"""The files that the Dockerfile copies and runs exist; it is not built here, for want of images."""

import configparser
import re
import shlex
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent


def read_instructions() -> list[tuple[str, str]]:
    """Return the instructions with their arguments, without comments."""
    text = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def read_setup() -> configparser.ConfigParser:
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    return setup


def test_its_python_is_one_that_we_support() -> None:
    version = re.search(r"python:(3\.\d+)", read_instructions()[0][1])
    assert version is not None
    assert (
        f"Programming Language :: Python :: {version[1]}\n"
        in read_setup()["metadata"]["classifiers"]
    )


def test_it_installs_extras_and_runs_a_command_that_exist() -> None:
    arguments = dict(read_instructions())
    extras = re.search(r"'\.\[([\w,]+)\]'", arguments["RUN"])
    assert extras is not None
    assert set(extras[1].split(",")) <= set(read_setup()["options.extras_require"])
    (command,) = shlex.split(arguments["ENTRYPOINT"].strip("[]"))
    assert command in read_setup()["options.entry_points"]["console_scripts"]


def test_the_image_gets_what_the_build_reads() -> None:
    ignored = (CHECKOUT / ".dockerignore").read_text(encoding="utf-8").split()
    kept = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert ignored[0] == "*"
    needed = {"bert_data", "setup.cfg", "pyproject.toml"}
    needed |= {read_setup()["metadata"]["long_description"].removeprefix("file: ")}
    needed |= {read_setup()["metadata"]["license_files"]}
    assert needed <= kept
    assert all((CHECKOUT / name).exists() for name in kept)
