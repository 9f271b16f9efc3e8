"""Options by the names of flags, with the values that Python programs have."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from bert_data.api.options import Options
from bert_data.work.ray_tasks import Ray


@dataclasses.dataclass(kw_only=True)
class Size:
    width: int = 1
    height: int = 2


@dataclasses.dataclass(kw_only=True)
class Place:
    folder: str
    names: tuple[str, ...] = ()


def test_each_configuration_takes_its_own():
    options = {"width": np.int32(5), "names": (Path("a"),), "engine": "ray"}
    given = Options("f", options, Size, Place, others=("engine", "more"))
    assert given.config(Size) == Size(width=5)
    assert given.config(Place, folder="x") == Place(folder="x", names=("a",))
    assert given.engine() == Ray()
    assert given.take("more", 7) == 7
    given.end()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("widht", r"f\(\) has no option 'widht'; did you mean width\?"),
        ("folder", r"f\(\) has no option 'folder'$"),  # the function names it otherwise
    ],
)
def test_an_unknown_option_is_refused(name, sentence):
    with pytest.raises(TypeError, match=sentence):
        given = Options("f", {name: 1}, Size, Place)
        given.config(Place, folder="x")
        given.end()
