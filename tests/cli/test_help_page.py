"""The page of --help: common flags first, then groups, then the rest."""

import pytest
from absl import flags

from bert_data.cli.help_page import help_page
from bert_data.cli.settings_flags import DEFINED, flag

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
def values(monkeypatch: pytest.MonkeyPatch) -> flags.FlagValues:
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
    values = flags.FlagValues()
    for each, module in defined:
        flags.DEFINE_flag(each, values, module)
    flags.mark_flag_as_required("dish", values)
    return values


DESCRIPTION = """Cook.

    bert-data cook --dish=soup
"""


def test_common_flags_come_first_then_groups_then_the_rest(values):
    page = help_page("bert-data cook", DESCRIPTION, {"common": "dish guests"}, values=values)
    assert page == PAGE


def test_the_full_page_ends_with_flags_of_absl(values):
    page = help_page("cook", "Cook.", {}, values=values, is_full=True)
    assert page.index("--dish") < page.index("absl and logging:") < page.index("--[no]pdb")


def test_a_group_names_flags_that_there_are(values):
    with pytest.raises(KeyError, match="dinner"):
        help_page("cook", "Cook.", {"common": "dinner"}, values=values)
