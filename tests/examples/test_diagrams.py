"""The diagrams are those that the script draws, of README's table as it is."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from examples import diagrams


@pytest.mark.parametrize("name", diagrams.DIAGRAMS)
def test_the_drawn_ones_are_up_to_date(checkout: Path, name: str) -> None:
    drawn = diagrams.DIAGRAMS[name]()
    assert (checkout / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == drawn
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"


def test_bars_have_a_line_of_the_table_each() -> None:
    assert diagrams.draw_speed().count(" times</text>") == 9


def test_packing_first_fits() -> None:
    assert diagrams.pack([20, 10, 12, 22, 30]) == [[30], [22, 10], [20, 12]]
