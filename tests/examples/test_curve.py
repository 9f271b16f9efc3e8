"""The drawing of a curve."""

from examples.demo.curve import plot


def test_draws_marks_line_and_labels() -> None:
    drawing = plot(
        {"*": [(0, 6.0), (50, 4.0), (100, 2.0)], "o": [(100, 3.0)]},
        level=5.0,
        level_name="line",
        width=11,
        height=5,
    )
    assert drawing.split("\n") == [
        "  6.00 |*",
        "       |----------- line 5.00",
        "       |     *",
        "       |          o",
        "  2.00 |          *",
        "       +-----------",
        "        0 100 steps",
    ]


def test_points_of_one_column_are_drawn_at_their_mean() -> None:
    points = [(0, 0.0), (99, 1.0), (100, 3.0)]
    drawing = plot({"*": points}, level=4.0, level_name="line", width=3, height=5)
    rows = [line[8:11] for line in drawing.split("\n")[:5]]
    assert rows == ["---", "", "  *", "", "*"]


def test_equal_losses_need_no_height() -> None:
    drawing = plot({"*": [(1, 2.0)]}, level=2.0, level_name="line", width=4, height=3)
    assert drawing.split("\n")[0] == "  2.00 |---* line 2.00"
