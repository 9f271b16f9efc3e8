"""A table that a step makes of what it did, for the summary, the report and the summary's file.

Table(columns=(("part", ""), ("bytes", "reached"), ("bytes", "wanted")),
      rows=(("web", 120, 0.25),))
"""

import dataclasses
from typing import Any

Value = str | int | float


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of values.

    Attributes:
      columns: heads of the columns, of two parts; those with the same first part belong together.
      rows: as many values each as there are columns.
    """

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Value, ...], ...]

    def as_json(self) -> list[dict[str, Any]]:
        """Return a mapping a row: {"part": "web", "bytes": {"reached": 120, "wanted": 0.25}}."""
        return [self._row(row) for row in self.rows]

    def _row(self, row: tuple[Value, ...]) -> dict[str, Any]:
        described: dict[str, Any] = {}
        for (group, name), value in zip(self.columns, row, strict=True):
            if name:
                described.setdefault(group, {})[name] = value
            else:
                described[group] = value
        return described

    def as_text(self) -> list[list[str]]:
        """Return two rows of heads, and the rows of formatted values."""
        groups = [group for group, _ in self.columns]
        heads = [group if group not in groups[:i] else "" for i, group in enumerate(groups)]
        return [heads, [name for _, name in self.columns], *([*map(_shown, r)] for r in self.rows)]


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return value if value.isprintable() else ascii(value)[1:-1]
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
