"""Settings are declared once: read, checked, and made plain."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest

from bert_data.checks import check_bounds, check_choice, check_integer
from bert_data.gpt import GptConfig
from bert_data.reader import ReaderConfig
from bert_data.settings import (
    REQUIRED,
    NotEmpty,
    OneOf,
    Setting,
    Share,
    Within,
    WrittenAs,
    check_settings,
    convert,
    settings_of,
)
from bert_data.training.training_config import TrainingConfig

COVERS = ("checks", "declarations", "former_names", "written_values")


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
        ({"cover": "no"}, "cover is 'no'; it must be true or false"),
        ({"cover": None}, "cover is None; it must be true or false"),
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


def test_configurations_take_them():
    reader = ReaderConfig(input_patterns=[Path("a/b")], batch_size=np.int64(8), seed=np.uint8(3))
    assert reader == ReaderConfig(input_patterns=("a/b",), batch_size=8, seed=3)
    assert reader.patterns == ("a/b",)
    config = TrainingConfig(output_dir=Path("out"), learning_rate=np.float64(0.5))
    assert (config.output_dir, type(config.learning_rate)) == ("out", float)
    assert GptConfig(seq_length=np.int32(8), cache_dir=Path("c")).cache_dir == "c"


OF_NAMES = "it must be a mapping of names, or a list of NAME:VALUE"
STRINGS = tuple[str, ...]
NUMBERS = tuple[float, ...]
LEAST = Annotated[int, Within(1, 9)]
PAIRS = tuple[tuple[int, float], ...]
KEEP = Literal["first", "none", ""]
NAME = Annotated[str, NotEmpty()]


class Spice(NamedTuple):
    """A spice."""

    name: str
    grams: Share = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dish:
    """A dish."""

    spices: tuple[Spice, ...] = ()
    start: Annotated[LEAST, WrittenAs("from")] | None = None

    def __post_init__(self) -> None:
        check_settings(self)


@pytest.mark.parametrize(
    ("kind", "value", "converted"),
    [
        (int, 3.0, 3),
        (int, np.float32(3), 3),
        (int, -(2**70), -(2**70)),
        (LEAST, 9, 9),
        (float, 3, 3),
        (float, np.float64(0.5), 0.5),
        (float | None, None, None),
        (Share | None, 1, 1),
        (bool, np.bool_(True), True),
        (str, Path("a/b"), "a/b"),
        (str, "", ""),
        (NAME, "US", "US"),
        (KEEP, "", ""),
        (STRINGS, "US", ("US",)),
        (STRINGS, ["US", Path("GB")], ("US", "GB")),
        (STRINGS, [], ()),
        (STRINGS | None, None, None),
        (Sequence[int], (np.int8(1), 2.0), (1, 2)),
        (NUMBERS, 30, (30,)),
        (NUMBERS, [30, 60.5], (30, 60.5)),
        (PAIRS, [[1, 2.5], (3, 4)], ((1, 2.5), (3, 4))),
        (str | tuple[int, ...], [16, 32], (16, 32)),
        (str | tuple[int, ...], "max", "max"),
        (Mapping[str, LEAST], {"a": 1.0}, {"a": 1}),
        (Mapping[str, LEAST], ["a:1", "b:2"], {"a": 1, "b": 2}),
        (Mapping[str, LEAST], "a:1", {"a": 1}),
        (Mapping[str, LEAST], {"a:1": None}, {"a": 1}),
        (Mapping[str, str], ["a:1", "b:s3://c:d"], {"a": "1", "b": "s3://c:d"}),
        (Mapping[str, STRINGS], ["a:b", {"c": ["d", "e"]}], {"a": ("b",), "c": ("d", "e")}),
        (Mapping[str, float] | float, 2, 2),
        (Mapping[str, float] | float, {"a": 2}, {"a": 2}),
        (Dish, {"from": 2.0}, Dish(start=2)),
        (Dish, {"spices": [{"name": "salt"}]}, Dish(spices=(Spice("salt", 0.5),))),
        (Dish | float, 0.5, 0.5),
        (dict, {1: 2}, {1: 2}),
        (Any, [1], [1]),
    ],
)
def test_values_that_fit(kind: Any, value: Any, converted: Any) -> None:
    result = convert("p", kind, value)
    assert result == converted
    assert type(result) is type(converted)


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (int, None, "p is None; it must be an integer"),
        (int, 1.5, "p is 1.5; it must be an integer"),
        (int, "1", "p is '1'; it must be an integer"),
        (int, True, "p is True; it must be an integer"),
        (int, math.inf, "p is inf; it must be an integer"),
        (LEAST, 10, "p is 10; 1 to 9 is allowed"),
        (LEAST, 1.5, "p is 1.5; an integer, 1 to 9, is allowed"),
        (Annotated[int, Within(0)], 2**63, f"p is {2**63}; 0 to 2,147,483,647 is allowed"),
        (float, "3", "p is '3'; it must be a number"),
        (float, True, "p is True; it must be a number"),
        (float, math.nan, "p is nan; it must be a finite number"),
        (float, math.inf, "p is inf; it must be a finite number"),
        (float | None, "3", "p is '3'; it must be a number"),
        (Share | None, -0.1, "p is -0.1; 0 to 1 is allowed"),
        (Share, "a", "p is 'a'; a number, 0 to 1, is allowed"),
        (bool, 0, "p is 0; it must be true or false"),
        (bool, "yes", "p is 'yes'; it must be true or false"),
        (str, 1, "p is 1; it must be a string"),
        (str, True, "p is True; it must be a string"),
        (NAME, "", "p is ''; it must not be empty"),
        (KEEP, "last", "p is 'last'; it must be one of first, none, ''"),
        (STRINGS, [1], "p is 1; it must be a string"),
        (STRINGS, 7, "p is 7; it must be a list, each a string"),
        (NUMBERS, "3", "p is '3'; it must be a list, each a number"),
        (NUMBERS, [1, "3"], "p is '3'; it must be a number"),
        (PAIRS, [[1, 2], [3]], "p 2 is [3]; it must be [an integer, a number]"),
        (str | tuple[int, ...], 7, "p is 7; it must be a string or a list, each an integer"),
        (Mapping[str, Share], {"a": 2}, "p: a is 2; 0 to 1 is allowed"),
        (Mapping[str, Share], {1: 2}, f"p is {{1: 2}}; {OF_NAMES}"),
        (Mapping[str, str], ["a"], f"p is ['a']; {OF_NAMES}"),
        (Mapping[str, str], 7, f"p is 7; {OF_NAMES}"),
        (Mapping[str, str], ["a:1", "a:2"], "p has 'a' twice"),
        (Mapping[str, LEAST], ["a:b"], "p: a is 'b'; an integer, 1 to 9, is allowed"),
        (Mapping[str, LEAST], {"a": None}, "p: a is None; an integer, 1 to 9, is allowed"),
        (Dish, 7, "p is 7; it must be a mapping with spices, from"),
        (Dish, {"from": 10}, "p: from is 10; 1 to 9 is allowed"),
        (Dish, {"form": 1}, "p has no key 'form' (did you mean from?); there are spices, from"),
        (Dish, {"name": 1}, "p has no key 'name' (it is one of spices); there are spices, from"),
        (Dish, {"spices": [{}]}, "p: spice 1 has no name; it needs one"),
        (Dish, {"spices": [Spice("a", 2)]}, "p: spice 1: grams is 2; 0 to 1 is allowed"),
    ],
)
def test_values_that_do_not(kind: Any, value: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        convert("p", kind, value)
    assert str(caught.value) == sentence


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """Least and greatest values."""

    min_x: float | None = None
    max_x: float | None = 0
    min_y: int = 5
    max_z: float = 1

    def __post_init__(self) -> None:
        check_settings(self)


def test_a_least_and_a_greatest_value() -> None:
    """They are >= 0, in order, and only the greatest may be infinite."""
    Limits(min_x=2, max_x=math.inf)
    Limits(min_x=2, max_x=None)
    for values, sentence in {
        ("min_x", -1): "min_x is -1; 0 or more is allowed",
        ("max_x", -0.5): "max_x is -0.5; 0 or more is allowed",
        ("min_x", math.inf): "min_x is inf; it must be a finite number",
        ("max_x", math.nan): "max_x is nan; it must be a finite number",
        ("min_y", 0.5): "min_y is 0.5; an integer, 0 to 2,147,483,647, is allowed",
        ("min_x", 2): "min_x is 2; it must be at most max_x, 0",
    }.items():
        with pytest.raises(ValueError) as caught:
            Limits(**dict([values]))
        assert str(caught.value) == sentence


def test_bounds_that_a_program_computes():
    assert check_integer("seq_length", 9.0, 1, 9) == 9
    assert check_bounds("rate", 0.5, 0, 1) == 0.5
    for value in (0, 10, 2**63):
        with pytest.raises(ValueError, match=f"^seq_length is {value}; 1 to 9 is allowed$"):
            check_integer("seq_length", value, 1, 9)
    for value in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"^rate is {value}; 0 to 1 is allowed$"):
            check_bounds("rate", value, 0, 1)


def test_choices():
    check_choice("optimizer", "lamb", ("adamw", "lamb"))
    with pytest.raises(ValueError, match=r"^optimizer is 'sgd'; it must be one of adamw, lamb$"):
        check_choice("optimizer", "sgd", ("adamw", "lamb"))
