"""Pages: self-contained, escaped, and whole or not there."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bert_data.inspection.content import STYLES, CellTable, Plot, StyledText
from bert_data.inspection.page import open_page


class Reader(HTMLParser):
    """Collects what a page has: tags with their attributes, and its texts."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def write(path: Path, title: str = "t", *text: str | StyledText) -> str:
    with open_page(str(path), title) as page:
        page.paragraph(*text)
    return path.read_text(encoding="utf-8")


def test_all_parts_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    with open_page(str(path), "A set") as page:
        page.heading("Records")
        page.paragraph("the ", StyledText("[MASK]", "masked", note="cat"))
        page.table(
            CellTable(head=("label", "records"), rows=[(StyledText("random", "good"), "12")])
        )
        page.plot(Plot(title="p", x_label="x", y_label="y", x=("1",), series={"": (1,)}))
    reader = Reader(path.read_text(encoding="utf-8"))
    assert reader.open == []
    assert ("span", {"class": "masked", "title": "cat"}) in reader.tags
    assert {"A set", "Records", "[MASK]", "label", "random", "12", "p"} <= set(reader.texts)
    assert [tag for tag, _ in reader.tags].count("svg") == 1


def test_text_is_escaped_everywhere(tmp_path: Path) -> None:
    evil = "</style><script>alert('1\")</script>&\x1b\ud800"
    path = tmp_path / "a.html"
    with open_page(str(path), evil) as page:
        page.heading(evil)
        page.paragraph(StyledText(evil, "masked", note=evil))
        page.table(CellTable(head=(evil,), rows=[(evil,)]))
        page.plot(Plot(title=evil, x_label=evil, y_label=evil, x=(evil,), series={evil: (1,)}))
    reader = Reader(path.read_text(encoding="utf-8"))
    assert "script" not in [tag for tag, _ in reader.tags]
    assert reader.open == []
    shown = evil.replace("\x1b", r"\x1b").replace("\ud800", r"\ud800")
    assert reader.texts.count(shown) >= 8
    assert dict(reader.tags)["span"]["title"] == shown


def test_nothing_comes_from_elsewhere(tmp_path: Path) -> None:
    source = write(tmp_path / "a.html", "t", "x")
    assert not re.search(r"https?:|//|<script|<link|@import|url\(", source)
    assert "prefers-color-scheme: dark" in source


def test_every_style_has_colours(tmp_path: Path) -> None:
    source = write(tmp_path / "a.html", "t", *(StyledText("x", style) for style in STYLES))
    sheet = source.partition("<style>")[2].partition("</style>")[0]
    assert [style for style in STYLES if style and f".{style}" not in sheet] == []


def test_an_error_leaves_no_page(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    with pytest.raises(ZeroDivisionError), open_page(str(path), "t") as page:
        page.paragraph("x")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_page_replaces_neither_a_file_nor_an_input(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"), open_page(str(path), "t"):
        pass
    with (
        pytest.raises(ValueError, match=r"a\.html' is an input too"),
        open_page(str(path), "t", reads=[str(path)], overwrite=True),
    ):
        pass
    assert path.read_text() == "mine"
    with open_page(str(path), "t", overwrite=True):
        pass
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["manifest.train.json", "index.train-00000-of-00001.npy"])
def test_a_page_does_not_replace_what_is_beside_a_set(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("of the set")
    with (
        pytest.raises(ValueError, match="has the name of a set's index or manifest"),
        open_page(str(tmp_path / name), "t", overwrite=True),
    ):
        pass
    assert (tmp_path / name).read_text() == "of the set"


def test_a_page_may_be_remote(tmp_path: Path) -> None:
    with open_page(f"file://{tmp_path}/a.html", "t") as page:
        page.paragraph("x")
    assert "<p>x</p>" in (tmp_path / "a.html").read_text(encoding="utf-8")
