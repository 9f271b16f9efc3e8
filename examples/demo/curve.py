"""Plot a curve as text.

7.0 |*
    |-*---------------------- unigrams 6.09
    |  **o**
4.9 |       ****o*****o******
    +------------------------
     0                   3000 steps
"""

from collections.abc import Sequence

Points = Sequence[tuple[float, float]]


def plot(
    series: dict[str, Points], *, level: float, level_name: str, width: int = 56, height: int = 16
) -> str:
    """Plot points as marks, with one horizontal line.

    Args:
      series: points (step, loss) by their mark, one character; later series cover earlier ones.
        Each column shows the mean of its points.
      level: loss of the horizontal line.
      level_name: label at its end.
      width: columns of the plot, >= 2.
      height: rows of the plot, >= 2.

    Returns:
      Lines without spaces at their ends; the last one has no newline.
    """
    last_step = max(step for points in series.values() for step, _ in points)
    columns = {mark: _column_means(points, last_step, width) for mark, points in series.items()}
    losses = [level, *(loss for means in columns.values() for loss in means.values())]
    low, high = min(losses), max(losses)

    def row_of(loss: float) -> int:
        return round((high - loss) / ((high - low) or 1.0) * (height - 1))

    cells = [[" "] * width for _ in range(height)]
    cells[row_of(level)] = ["-"] * width
    for mark, means in columns.items():
        for column, loss in means.items():
            cells[row_of(loss)][column] = mark
    labels = {0: f"{high:.2f}", height - 1: f"{low:.2f}"}
    lines = [f"{labels.get(row, ''):>6} |{''.join(line)}" for row, line in enumerate(cells)]
    lines[row_of(level)] += f" {level_name} {level:.2f}"
    lines.append(f"{'':>6} +{'-' * width}")
    lines.append(f"{'':>6}  0{f'{last_step:,.0f} steps':>{width - 1}}")
    return "\n".join(line.rstrip() for line in lines)


def _column_means(points: Points, last_step: float, width: int) -> dict[int, float]:
    """Return the mean of the losses of each column that has points."""
    columns: dict[int, list[float]] = {}
    for step, loss in points:
        columns.setdefault(round(step / (last_step or 1.0) * (width - 1)), []).append(loss)
    return {column: sum(losses) / len(losses) for column, losses in sorted(columns.items())}
