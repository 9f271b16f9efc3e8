"""A terminal gets colours and folded lines, others plain lines; a page, what a terminal shows."""

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from bert_data.inspection.terminal import STYLES, StyledText, Terminal, first_of, open_page

LONG = "word " * 60


def plain() -> tuple[Terminal, io.StringIO]:
    file = io.StringIO()
    return Terminal(file), file


def drawn(width: int = 40, **options) -> tuple[Terminal, io.StringIO]:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, highlight=False, **options)
    return Terminal(file, console=console), file


def test_many_names_are_the_first_one_and_a_count() -> None:
    assert first_of(["a.txt"]) == "a.txt"
    assert first_of(["a.txt"] * 1001) == "a.txt and 1,000 more"


def test_plain_lines_are_not_folded_and_have_no_codes() -> None:
    terminal, file = plain()
    terminal.heading("record ", StyledText("1", "strong"))
    terminal.paragraph(LONG, StyledText("x", "masked"))
    terminal.labelled("A", [StyledText("[b]", "word"), "\x1b[31m\nb\x00\u202ec\ud800é 中"])
    shown = r"  A  [b]\x1b[31m\nb\x00\u202ec\ud800é 中"
    assert file.getvalue() == f"\nrecord 1\n{LONG}x\n{shown}\n"


def test_a_terminal_gets_colours_and_a_label_stays_beside_its_lines() -> None:
    terminal, file = drawn(color_system="standard")
    terminal.labelled("A", [StyledText("cat", "masked"), " sat " * 20])
    lines = file.getvalue().splitlines()
    assert "\x1b[1;31mcat" in lines[0]
    assert len(lines) > 2
    assert all(line.startswith("     ") for line in lines[1:])


def test_no_color_is_respected() -> None:
    terminal, file = drawn(no_color=True)
    terminal.paragraph(StyledText("cat", "masked"))
    assert "31m" not in file.getvalue()


def test_text_is_never_taken_for_markup_or_codes() -> None:
    terminal, file = drawn(width=80)
    terminal.paragraph("[bold]x[/bold] :smile: \x1b[5m")
    assert r"[bold]x[/bold] :smile: \x1b[5m" in file.getvalue()


def test_every_style_can_be_drawn() -> None:
    for terminal, file in (plain(), drawn()):
        terminal.paragraph(*(StyledText(name or "none", name) for name in STYLES))
        assert "padding" in file.getvalue()


def test_tables_align_numbers_right() -> None:
    table = ("label", "records"), [("a", "5"), ("random", "1,200")]
    terminal, file = plain()
    terminal.table(*table)
    assert file.getvalue() == "label   records\na             5\nrandom    1,200\n"
    terminal, file = drawn()
    terminal.table(*table)
    assert "1,200" in file.getvalue()


def test_counts_have_bars() -> None:
    terminal, file = plain()
    terminal.bars("p", ("x", "n"), {"a": 1, "b": 2000})
    assert file.getvalue() == f"\np\nx      n\na      1\nb  2,000  {'#' * 40}\n"
    terminal.bars("q", ("x", "n"), {})


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
