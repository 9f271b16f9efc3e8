"""The recipe for conda says what setup.cfg says."""

import configparser
import re
from pathlib import Path

import yaml

import bert_data


def test_the_recipe_is_that_of_the_package(checkout: Path) -> None:
    text = (checkout / "recipe" / "meta.yaml").read_text()
    head, _, rest = text.partition("package:")
    assert re.search(r'set version = "(.+)"', head)[1] == bert_data.__version__
    recipe = yaml.safe_load(re.sub(r"{{ (\w+) }}", r"\1", f"package:{rest}"))
    setup = configparser.ConfigParser()
    setup.read(checkout / "setup.cfg")
    options = setup["options"]
    needed = [line for line in options["install_requires"].split("\n") if line[:1] not in ("", "#")]
    run = [each.replace(" ", "", 1) for each in recipe["requirements"]["run"]]
    assert run == [f"python{options['python_requires']}", *needed]
    (command,) = recipe["build"]["entry_points"]
    assert command in setup["options.entry_points"]["console_scripts"]
    assert recipe["about"]["license"] == setup["metadata"]["license"]
