"""A terminal gets colours and folded lines, anything else plain lines of any length."""

import io

from rich.console import Console

from bert_data.inspection.terminal import STYLES, StyledText, Terminal, first_of

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
