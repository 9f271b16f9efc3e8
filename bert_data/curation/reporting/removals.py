"""What each step removed of each data set: a table and a picture.

    wiki  |################################|dup|
    web   |############|language| gopher_quality |    near_duplicates     |

A bar is the text of a data set as it was read; parts of it are what each step removed (Yang et al.
2023, "Baichuan 2", figure 2, shows documents so), and what stays. Of a data set whose documents a
step repeats, as a mixture does, it removed those that it rejected, and nothing by the copies.
"""

import html
import itertools
from collections.abc import Iterator, Mapping, Sequence

from bert_data.curation.running.counts import StepCounts

_WIDTH, _ROW_HEIGHT, _LABEL_WIDTH, _VALUE_WIDTH = 860, 32, 120, 150
_CHARACTER_WIDTH = 6.2  # of the labels in bars, about

ByDataSet = Mapping[str, Sequence[StepCounts]]


def removed_bytes(by_data_set: ByDataSet) -> dict[str, dict[str, int]]:
    """Return the bytes that each step removed, by its label, of each data set, by its name.

    Args:
      by_data_set: the counts of reading and of all steps.

    Returns:
      All steps that removed something of some data set, in their order. A step that made texts
      longer removed nothing.
    """
    removed = {
        name: {
            after.label: _num_removed(before, after) for before, after in itertools.pairwise(counts)
        }
        for name, counts in by_data_set.items()
    }
    used = {label for each in removed.values() for label, num_bytes in each.items() if num_bytes}
    return {
        name: {label: num_bytes for label, num_bytes in each.items() if label in used}
        for name, each in removed.items()
    }


def _num_removed(before: StepCounts, after: StepCounts) -> int:
    if after.num_documents + after.num_rejected > before.num_documents:  # some are repeated
        return after.num_rejected_bytes
    return max(0, before.num_bytes - after.num_bytes)


def removals_table(by_data_set: ByDataSet) -> list[list[str]]:
    """Return the rows of a table: data sets, shares that steps removed, what stays.

    Returns:
      The first row is the head. A share is of the bytes that were read; "" where it is none.
    """
    removed = removed_bytes(by_data_set)
    names = list(by_data_set)
    labels = list(removed[names[0]]) if names else []
    rows = [["step", *names]]
    rows.append(["read, MB", *(f"{by_data_set[n][0].num_bytes / 1e6:,.2f}" for n in names)])
    rows += [[label, *(_share(by_data_set, removed, n, label) for n in names)] for label in labels]
    kept = {n: _num_left(by_data_set, removed, n) / 1e6 for n in names}
    written = {n: by_data_set[n][-1].num_bytes / 1e6 for n in names}
    rows.append(["kept, MB", *(f"{kept[n]:,.2f}" for n in names)])
    if any(f"{kept[n]:,.2f}" != f"{written[n]:,.2f}" for n in names):
        rows.append(["written, MB", *(f"{written[n]:,.2f}" for n in names)])
    return rows


def _share(by_data_set: ByDataSet, removed: Mapping[str, dict[str, int]], n: str, step: str) -> str:
    num_bytes, whole = removed[n][step], by_data_set[n][0].num_bytes
    if not num_bytes:
        return ""
    share = f"{100 * num_bytes / whole:.1f}%"
    return "<0.1%" if share == "0.0%" else share


def _num_left(by_data_set: ByDataSet, removed: Mapping[str, dict[str, int]], name: str) -> int:
    return max(0, by_data_set[name][0].num_bytes - sum(removed[name].values()))


def removals_picture(by_data_set: ByDataSet) -> str:
    """Draw a bar for each data set, as SVG: what stays, and before it what each step removed."""
    removed = removed_bytes(by_data_set)
    height = _ROW_HEIGHT * len(by_data_set)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img"'
        ' aria-label="what each step removed of each data set">'
    ]
    for row, (name, counts) in enumerate(by_data_set.items()):
        top, whole = row * _ROW_HEIGHT, max(1, counts[0].num_bytes)
        left = _num_left(by_data_set, removed, name)
        middle = top + _ROW_HEIGHT / 2 + 4
        parts.append(
            f'<text x="{_LABEL_WIDTH - 8}" y="{middle}" text-anchor="end">'
            f"{html.escape(name)}</text>"
        )
        segments = [("bar", "kept", left), *_segments(removed[name])]
        parts += _draw(segments, whole, top)
        parts.append(
            f'<text x="{_WIDTH - _VALUE_WIDTH + 8}" y="{middle}">{100 * left / whole:.1f}% of'
            f" {whole / 1e6:,.2f} MB</text>"
        )
    return "".join([*parts, "</svg>"])


def _segments(removed: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    """Yield class, label and bytes of what was removed, the last step first."""
    used = [(label, num_bytes) for label, num_bytes in removed.items() if num_bytes]
    for number, (label, num_bytes) in enumerate(reversed(used)):
        yield ("removed odd" if number % 2 else "removed"), label, num_bytes


def _draw(segments: Sequence[tuple[str, str, int]], whole: int, top: float) -> Iterator[str]:
    room = _WIDTH - _LABEL_WIDTH - _VALUE_WIDTH
    total = max(whole, sum(num_bytes for _, _, num_bytes in segments))
    left: float = _LABEL_WIDTH
    for kind, label, num_bytes in segments:
        width, label = room * num_bytes / total, html.escape(label)
        yield (
            f'<rect class="{kind}" x="{left:.1f}" y="{top + 3}" width="{width:.1f}"'
            f' height="{_ROW_HEIGHT - 6}"><title>{label}: {num_bytes / 1e6:,.2f} MB</title></rect>'
        )
        if kind != "bar" and len(label) * _CHARACTER_WIDTH < width:
            x, y = left + width / 2, top + _ROW_HEIGHT / 2 + 4
            yield f'<text class="axis" x="{x:.1f}" y="{y}" text-anchor="middle">{label}</text>'
        left += width
