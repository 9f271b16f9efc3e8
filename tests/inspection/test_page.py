"""Pages: what a terminal shows, escaped, and whole or not there."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bert_data.inspection.page import open_page
from bert_data.inspection.terminal import STYLES, StyledText


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


def test_a_page_is_what_a_terminal_shows(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    with open_page(str(path), "A {set}") as page:
        page.heading("Records")
        page.labelled("A", ["the ", StyledText("[MASK]", "masked"), "(cat) " * 30])
        page.table(("label", "records"), [(StyledText("r", "good"), "12")])
    source = path.read_text(encoding="utf-8")
    reader = Reader(source)
    assert reader.open == []
    viewport = {"name": "viewport", "content": "width=device-width, initial-scale=1"}
    assert ("meta", viewport) in reader.tags and "overflow-x: auto" in source
    assert {"A {set}", "Records", "[MASK]", "r"} <= set(reader.texts)
    (masked,) = {attributes["class"] for tag, attributes in reader.tags if tag == "span"} & {
        match[1] for match in re.finditer(r"\.(r\d+) {color: #800000[^}]*font-weight: bold", source)
    }
    assert f'<span class="{masked}">[MASK]</span>' in source
    text = "".join(reader.texts).partition("Records")[2]
    assert max(map(len, text.splitlines())) <= 100 and text.count("(cat)") == 30


def test_text_is_escaped_everywhere(tmp_path: Path) -> None:
    evil = "</style><script>alert('1\")</script>&\x1b\ud800{}"
    path = tmp_path / "a.html"
    with open_page(str(path), evil) as page:
        page.heading(evil)
        page.paragraph(StyledText(evil, "masked"))
        page.labelled(evil, evil)
        page.table((evil,), [(evil,)])
    reader = Reader(path.read_text(encoding="utf-8"))
    assert "script" not in [tag for tag, _ in reader.tags]
    assert reader.open == []
    shown = evil.replace("\x1b", r"\x1b").replace("\ud800", r"\ud800")
    assert "".join(reader.texts).count(shown) == 7


def test_nothing_comes_from_elsewhere(tmp_path: Path) -> None:
    with open_page(str(tmp_path / "a.html"), "t") as page:
        page.paragraph(*(StyledText("x", style) for style in STYLES))
    source = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//|<script|<link|@import|url\(", source)


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


def test_a_page_has_no_ending_of_something_else(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match=r"would not be gzip, as its ending says"),
        open_page(str(tmp_path / "page.html.gz"), "t"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


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
    assert "\nx\n" in (tmp_path / "a.html").read_text(encoding="utf-8")
