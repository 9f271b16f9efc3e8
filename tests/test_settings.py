"""Settings are declared once: read, checked, and made plain."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from bert_data.gpt import GptConfig
from bert_data.reader import ReaderConfig
from bert_data.settings import (
    REQUIRED,
    NotEmpty,
    OneOf,
    Setting,
    Share,
    Within,
    check_bounds,
    check_choice,
    check_integer,
    check_settings,
    plain,
    settings_of,
)
from bert_data.training.training_config import TrainingConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Soup:
    """A soup.

    It has settings.

    Attributes:
      pot: what it is cooked in,
        of any size.
      salt, pepper: spices: see
        `Spice`.

      heat: mild: a little. hot: more.

    Raises:
      nothing: at all.
    """

    pot: Annotated[str, NotEmpty()]
    salt: Annotated[int, Within(1, 9)] = 3
    pepper: Annotated[int, Within(0)] | None = None
    full: Share = 0.5
    heat: Annotated[str | None, OneOf(lambda: ("mild", "hot"))] = "mild"
    more: Mapping[str, str] = dataclasses.field(default_factory=dict)
    free: int | str = 7
    cover: bool = True
    seed: int | None = None

    def __post_init__(self) -> None:
        check_settings(self)


def test_a_setting_is_read_from_its_field_and_its_line():
    settings = settings_of(Soup)
    assert list(settings) == [field.name for field in dataclasses.fields(Soup)]
    assert settings["pot"] == Setting(
        name="pot",
        kind=str,
        default=REQUIRED,
        help="what it is cooked in, of any size.",
        constraint=NotEmpty(),
        is_optional=False,
    )
    assert settings["pepper"].help == settings["salt"].help == "spices: see `Spice`."
    assert (settings["pepper"].kind, settings["pepper"].is_optional) == (int, True)
    assert settings["heat"].help == "mild: a little. hot: more."
    assert settings["heat"].constraint is not None
    assert settings["heat"].is_optional
    assert (settings["full"].kind, settings["full"].constraint) == (float, Within(0, 1))
    assert settings["full"].help == ""
    assert (settings["more"].default, settings["free"].kind) == ({}, int | str)


def test_bounds_are_shown():
    shown = [str(Within(*ends)) for ends in ((0, 1), (5, 65_535), (1,), (0, math.inf), (-1e99,))]
    assert shown == ["0 to 1", "5 to 65,535", "1 or more", "0 or more", ""]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"pot": ""}, "pot is ''; it must not be empty"),
        ({"salt": 0}, "salt is 0; 1 to 9 is allowed"),
        ({"salt": 1.5}, "salt is 1.5; an integer, 1 to 9, is allowed"),
        ({"salt": None}, "salt is None; an integer, 1 to 9, is allowed"),
        ({"pepper": -1}, "pepper is -1; 0 to 2,147,483,647 is allowed"),
        ({"full": math.nan}, "full is nan; 0 to 1 is allowed"),
        ({"heat": "warm"}, "heat is 'warm'; it must be one of mild, hot"),
        ({"cover": "no"}, "cover is 'no'; True or False is allowed"),
        ({"cover": None}, "cover is None; True or False is allowed"),
        ({"seed": 1.5}, "seed is 1.5; it must be an integer"),
        ({"seed": True}, "seed is True; it must be an integer"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_in_one_sentence(values, sentence):
    with pytest.raises(ValueError, match=r".*") as caught:
        Soup(**{"pot": "pan", **values})
    assert str(caught.value) == sentence


def test_values_that_are_allowed_become_plain():
    soup = Soup(pot=Path("a/b"), salt=np.int8(9), pepper=None, full=np.float64(1), heat=None)
    assert soup == Soup(pot="a/b", salt=9, full=1.0, heat=None)
    assert [type(value) for value in (soup.pot, soup.salt, soup.full)] == [str, int, float]


def test_numbers_of_numpy_and_paths_become_those_of_python():
    values = (np.int64(3), np.float64(0.5), np.bool_(True), Path("a/b"), [np.int8(1)], "x", None)
    converted = [plain(value) for value in values]
    assert converted == [3, 0.5, True, "a/b", [1], "x", None]
    assert [type(value) for value in converted[:4]] == [int, float, bool, str]


def test_configurations_take_them():
    reader = ReaderConfig(input_patterns=[Path("a/b")], batch_size=np.int64(8), seed=np.uint8(3))
    assert reader == ReaderConfig(input_patterns=["a/b"], batch_size=8, seed=3)
    assert reader.patterns == ("a/b",)
    config = TrainingConfig(output_dir=Path("out"), learning_rate=np.float64(0.5))
    assert (config.output_dir, type(config.learning_rate)) == ("out", float)
    assert GptConfig(seq_length=np.int32(8), cache_dir=Path("c")).cache_dir == "c"


@pytest.mark.parametrize("value", [1, 3, 1_000_000, 1.0])
def test_inside(value):
    check_bounds("dupe_factor", value, 1, 1_000_000)


@pytest.mark.parametrize("value", [0, -1, 1_000_001, 2**63, math.nan, math.inf, -math.inf])
def test_outside(value):
    sentence = f"dupe_factor is {value}; 1 to 1,000,000 is allowed"
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        check_bounds("dupe_factor", value, 1, 1_000_000)


@pytest.mark.parametrize("value", ["3", None, [1]])
def test_what_is_not_a_number(value):
    with pytest.raises(ValueError, match="a number, 1 to 9, is allowed"):
        check_bounds("learning_rate", value, 1, 9)


@pytest.mark.parametrize("value", [1.0, True, "1", None, math.nan])
def test_what_is_not_an_integer(value):
    with pytest.raises(ValueError, match="an integer, 1 to 9, is allowed"):
        check_integer("seq_length", value, 1, 9)


def test_integers():
    check_integer("seq_length", 9, 1, 9)
    with pytest.raises(ValueError, match=r"^seq_length is 10; 1 to 9 is allowed$"):
        check_integer("seq_length", 10, 1, 9)


def test_choices():
    check_choice("optimizer", "lamb", ("adamw", "lamb"))
    with pytest.raises(ValueError, match=r"^optimizer is 'sgd'; it must be one of adamw, lamb$"):
        check_choice("optimizer", "sgd", ("adamw", "lamb"))
