"""Flags follow from settings, and configurations from flags; sentences name flags."""

import contextlib
import dataclasses
import importlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import pytest
from absl import flags

from bert_data.cli import settings_flags
from bert_data.cli.main import COMMANDS
from bert_data.cli.settings_flags import (
    DEFINED,
    Repeated,
    Section,
    define,
    flag,
    from_flags,
    help_page,
    name_flags,
    require,
    settings,
    warn_of_former_names,
)
from bert_data.settings import REQUIRED, Formerly, OneOf, Within, check_settings

COVERS = ("cli/shared_flags", "cli/train")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Meal:
    """A meal.

    Attributes:
      dish: what to cook, see `guests`.
      guests: how many eat.
      heat: mild: not hot. hot: see `salt=False`.
      salt: add salt.
      weights: of the dishes.
      counts: of the guests.
      inner: not a flag.
    """

    dish: str
    guests: Annotated[int, Within(1, 9), Formerly("people")] = 4
    heat: Annotated[str, OneOf(("mild", "hot"))] | None = None
    salt: bool = True
    weights: Sequence[float] | None = None
    counts: Sequence[int] | None = None
    inner: dict[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)


@pytest.fixture
def values(monkeypatch) -> Iterator[flags.FlagValues]:
    """Flags of nothing but the test."""
    values = flags.FlagValues()
    monkeypatch.setattr(flags, "FLAGS", values)
    of_others = dict(DEFINED)
    DEFINED.clear()
    yield values
    DEFINED.clear()
    DEFINED.update(of_others)


def test_a_configuration_is_made_of_its_flags(values):
    define([Section("meal", settings(Meal))])
    assert "inner" not in values
    values(["cook", "--dish=soup", "--nosalt", "--heat=hot"])
    meal = Meal(dish="soup", salt=False, heat="hot", inner={"a": "b"})
    assert from_flags(Meal, inner={"a": "b"}) == meal
    values(["cook", "--dish=soup", "--guests=3e0", "--salt=T"])
    assert from_flags(Meal) == Meal(dish="soup", guests=3, heat="hot")


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("--guests=0", "guests is 0; 1 to 9 is allowed"),
        ("--guests=many", "guests is 'many'; an integer, 1 to 9, is allowed"),
        ("--salt=maybe", "salt is 'maybe'; it must be true or false"),
        ("--heat=warm", "heat is 'warm'; it must be one of mild, hot"),
        ("--weights=1,a", "weights is 'a'; it must be a number"),
        ("--counts=0.7", "counts is 0.7; it must be an integer"),
    ],
)
def test_a_flag_is_converted_as_its_setting_is(values, typed, sentence):
    define([Section("meal", settings(Meal))])
    with pytest.raises(flags.IllegalFlagValueError) as caught:
        values(["cook", "--dish=soup", typed])
    assert str(caught.value.__context__) == sentence


def test_a_field_without_a_default_is_required(values):
    define([Section("", settings(Meal))])
    with pytest.raises(flags.IllegalFlagValueError, match="--dish must have a value"):
        values(["cook"])


def test_a_command_may_differ(values):
    changes = {"dish": {"default": None}, "heat": {"choices": ("warm",), "more_help": " More."}}
    every = settings(Meal, "dish heat", changes=changes)
    assert [(each.name, each.default) for each in every] == [("dish", None), ("heat", None)]
    assert every[1].help == "mild: not hot. hot: see `salt=False`. More."
    assert [each.default for each in require(every, "heat")] == [None, REQUIRED]
    define([Section("", every)])
    values(["cook", "--heat=warm"])
    assert (values.dish, values.heat) == (None, "warm")
    with pytest.raises(KeyError, match="dinner"):
        settings(Meal, without="dinner")


def test_flags_are_defined_once(values):
    define([Section("", settings(Meal))])
    define([Section("", settings(Meal))])
    with pytest.raises(AssertionError, match="salt"):
        define([Section("", (flag("salt", False, "Other salt."),))])


def test_a_former_name_is_understood_with_a_warning(values, caplog):
    define([Section("", settings(Meal))])
    values(["cook", "--dish=soup", "--people=3"])
    warn_of_former_names()
    assert from_flags(Meal).guests == 3
    assert caplog.messages == [
        "--people is called --guests now; the next release does not know the old name"
    ]
    assert "people" not in help_page("cook", "Cook.", {}, values=values)


def test_the_page_has_bounds_and_flags(values, monkeypatch):
    monkeypatch.setattr(flags, "get_help_width", lambda: 80)
    many = flag("many", [], "name it.", kind=Repeated)
    define([Section("meal", settings(Meal)), Section("", (many,))])
    assert help_page("cook", "Cook.", {}, values=values).splitlines()[4:-2] == [
        "meal:",
        "  --dish=TEXT               What to cook, see --guests. (required)",
        "  --guests=N                How many eat. (1 to 9; default: 4)",
        "  --heat=mild|hot           mild: not hot. hot: see --nosalt.",
        "  --[no]salt                Add salt. (default: true)",
        "  --weights=TEXT            Of the dishes.",
        "  --counts=TEXT             Of the guests.",
        "",
        "more:",
        "  --many=TEXT               Name it. (repeatable)",
    ]


def test_sentences_name_flags(values):
    define([Section("", settings(Meal))])
    for sentence, shown in (
        ("`dish` needs `salt=False`; `heat=hot`", "--dish needs --nosalt; --heat=hot"),
        ("set `salt=True`", "set --salt"),
        ("`dinner` and `Dish` and `dish", "`dinner` and `Dish` and `dish"),
    ):
        assert name_flags(sentence, values) == shown


def test_numbers_and_flags_of_the_command_alone(values):
    most = flag("most", 3, "", constraint=Within(1))
    define([Section("", (*settings(Meal, "weights counts"), most))])
    values(["cook", "--weights=0.7,3", "--counts=0,2.0"])
    assert (values.weights, values.counts, values.most) == ((0.7, 3), (0, 2), 3)


@pytest.mark.parametrize("name", [name.replace("-", "_") for name in COMMANDS])
def test_every_flag_of_a_command_has_a_help(name):
    module = importlib.import_module(f"bert_data.cli.{name}")
    every = [setting for section in module.SECTIONS for setting in section.settings]
    assert len({setting.name for setting in every}) == len(every) > 3
    assert [setting.name for setting in every if not setting.help] == []
    own = {setting.name for setting in every}
    if name not in ("create", "train"):
        assert own.isdisjoint({"dupe_factor", "optimizer"})


@pytest.mark.process
@pytest.mark.parametrize("name", [name.replace("-", "_") for name in COMMANDS])
def test_help_loads_no_large_package(checkout, name):
    program = (
        "import runpy, sys, atexit\n"
        "large = {'numpy', 'pyarrow', 'numba', 'tokenizers', 'tensorflow', 'torch', 'asyncio'}\n"
        "large |= {'_hashlib'}  # OpenSSL\n"
        "atexit.register(lambda: print('loaded', large & set(sys.modules)))\n"
        f"sys.argv = ['{name}', '--help']\n"
        f"runpy.run_module('bert_data.cli.{name}', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=checkout, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("loaded set()\n")
    if name in ("create", "tokenize", "curate"):
        words = " ".join(done.stdout.split())
        for flag_name in ("input_format", "text_field", "language", "on_error", "encoding_errors"):
            assert f"  --{flag_name}=" in done.stdout
        for text_format in ("mediawiki", "stackexchange", "arxiv", "code", "gutenberg", "epub"):
            assert f" {text_format}: " in words
        assert ("|epub|store\n" in done.stdout) == (name == "create")


PAGE = """\
usage: bert-data cook --flag=value ...

Cook.

    bert-data cook --dish=soup

common:
  --dish=TEXT               What to cook. (required)
  --guests=N                How many eat. (default: 4)

spices:
  --heat=mild|hot           How spicy it is. (default: mild)
  --secret_ingredient_of_grandmother=NUMBER
                            Grams of it, which she took from the upper drawer on
                            the left.

more:
  --[no]salt                Add salt. (default: true)
  --guest=TEXT              A name. (repeatable)

  -h, --help: this page; --helpfull: with all flags of logging; --version
"""


@pytest.fixture
def kitchen(monkeypatch: pytest.MonkeyPatch) -> flags.FlagValues:
    """Flags of a command, of a module of flags, and of absl."""
    monkeypatch.setattr(flags, "get_help_width", lambda: 80)
    for name in ("heat", "secret_ingredient_of_grandmother"):
        monkeypatch.setitem(DEFINED, name, (flag(name, None, ""), "spices"))
    text, number = flags.ArgumentParser(), flags.FloatParser()
    no_name, writer = "secret_ingredient_of_grandmother", flags.ArgumentSerializer()
    multiple = flags.MultiFlag(text, writer, "guest", [], "A name.")
    defined = (
        (flags.BooleanFlag("salt", True, "Add salt."), "cook.py"),
        (flags.Flag(flags.IntegerParser(), writer, "guests", 4, "How many eat."), "cook.py"),
        (flags.Flag(text, writer, "dish", None, "What to cook."), "cook.py"),
        (multiple, "cook.py"),
        (flags.EnumFlag("heat", "mild", "How spicy it is.", ["mild", "hot"]), "my_flags"),
        (flags.Flag(number, writer, no_name, None, "Grams of it, which she took from the upper"
                    " drawer on the left."), "my_flags"),
        (flags.BooleanFlag("pdb", False, "Debug."), "absl.app"),
    )  # fmt: skip
    kitchen = flags.FlagValues()
    for each, module in defined:
        flags.DEFINE_flag(each, kitchen, module)
    flags.mark_flag_as_required("dish", kitchen)
    return kitchen


DESCRIPTION = """Cook.

    bert-data cook --dish=soup
"""


def test_common_flags_come_first_then_groups_then_the_rest(kitchen):
    page = help_page("bert-data cook", DESCRIPTION, {"common": "dish guests"}, values=kitchen)
    assert page == PAGE


def test_the_full_page_ends_with_flags_of_absl(kitchen):
    page = help_page("cook", "Cook.", {}, values=kitchen, is_full=True)
    assert page.index("--dish") < page.index("absl and logging:") < page.index("--[no]pdb")


def test_a_group_names_flags_that_there_are(kitchen):
    with pytest.raises(KeyError, match="dinner"):
        help_page("cook", "Cook.", {"common": "dinner"}, values=kitchen)


@pytest.mark.parametrize(("batching", "is_refused"), [("auto", False), ("plain", True)])
def test_a_flag_of_some_values_of_another(batching, is_refused, monkeypatch):
    values = flags.FlagValues()
    flags.DEFINE_string("batching", batching, "", flag_values=values)
    flags.DEFINE_integer("pool_batches", 64, "", flag_values=values)
    values(["train", "--pool_batches=3"])
    setting = flag("pool_batches", 64, "", only_with="batching=pools,auto")
    monkeypatch.setattr(settings_flags, "DEFINED", {"pool_batches": (setting, "")})
    monkeypatch.setattr(flags, "FLAGS", values)
    expected = pytest.raises(ValueError, match=r"^pool_batches needs `batching=pools`$")
    with expected if is_refused else contextlib.nullcontext():
        settings_flags.check_companions()
