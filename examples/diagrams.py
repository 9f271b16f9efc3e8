"""Draw the diagrams of docs/pictures/: the data's way, padding, a recipe, README's table.

.venv/bin/python -m examples.diagrams

way.svg       boxes from text to models
padding.svg   the same sequences in three kinds of batches
recipe.svg    the mixture and the masking of the stages of a recipe, from its guide
speed.svg     bars: times less CPU time than another program, from the table in README.md
"""

import itertools
import random
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from bert_data import Ramp, Recipe
from examples.pictures import CHECKOUT, PICTURES

INK, PALE, BLUE, ORANGE, GREY = "#1f2937", "#eef2ff", "#4f46e5", "#ea580c", "#e5e7eb"
WIDTH = 900
MAX_LENGTH = 32
NUM_ROWS = 8
CELL = 8


def main() -> None:
    """Write the files."""
    for name, draw in DIAGRAMS.items():
        path = PICTURES / f"{name}.svg"
        path.write_text(draw(), encoding="utf-8")
        print(path.relative_to(CHECKOUT))


def draw_way() -> str:
    """Return the boxes from text to models, each with what it holds and its guide's subject."""
    columns = (
        [("text", "lines, prose, rows", "of JSON or Parquet")],
        [("token store", "ids, memory-mapped,", "Megatron-LM's format")],
        [
            ("records", "masked sentences,", "TFRecord or Parquet"),
            ("GPT samples", "blends of stores,", "as Megatron-LM's"),
        ],
        [("batches", "tf.data, NumPy, torch,", "hardly any padding")],
        [
            ("trained model", "exact resume, Keras,", "TF 1 checkpoints"),
            ("for others", "TF Hub, Hugging Face", ""),
        ],
    )
    box_width, box_height, gap = 152, 74, 35
    parts, centres = [], []
    for number, column in enumerate(columns):
        left = number * (box_width + gap)
        tops = [100 - box_height / 2] if len(column) == 1 else [12.0, 188.0 - box_height]
        for (name, *lines), top in zip(column, tops, strict=True):
            parts.append(
                f'<rect x="{left}" y="{top}" width="{box_width}" height="{box_height}" rx="8"'
                f' fill="{PALE}" stroke="{BLUE}"/>'
            )
            parts.append(label(left + box_width / 2, top + 24, name, bold=True, middle=True))
            for line, words in enumerate(lines):
                y = top + 44 + 17 * line
                parts.append(label(left + box_width / 2, y, words, size=12, middle=True))
        centres.append([(left, top + box_height / 2) for top in tops])
    for before, after in itertools.pairwise(centres):
        for left, y in before[: 1 if len(after) > 1 else None]:
            for next_left, next_y in after[: 1 if after is centres[-1] else None]:
                parts.append(arrow(left + box_width, y, next_left, next_y))
    x = centres[-1][0][0] + box_width / 2
    parts.append(arrow(x, 12 + box_height, x, 188 - box_height))
    parts.append(label(box_width / 2, 175, "curate: keep what is", size=12, middle=True))
    parts.append(label(box_width / 2, 191, "worth training on", size=12, middle=True))
    return page(parts, 200)


def draw_padding() -> str:
    """Return sequences in batches of a fixed width, in sorted pools, and packed."""
    numbers = random.Random(7)
    lengths = [numbers.randint(6, MAX_LENGTH) for _ in range(3 * NUM_ROWS)]
    batches = [lengths[i : i + NUM_ROWS] for i in range(0, len(lengths), NUM_ROWS)]
    ordered = sorted(lengths)
    pools = [ordered[i : i + NUM_ROWS] for i in range(0, len(ordered), NUM_ROWS)]
    rows = pack(lengths)
    packed = [rows[i : i + NUM_ROWS] for i in range(0, len(rows), NUM_ROWS)]
    ways = (
        ("fixed width", [([[n] for n in batch], MAX_LENGTH) for batch in batches]),
        ("pools, sorted by length", [([[n] for n in batch], max(batch)) for batch in pools]),
        ("packed", [(batch, MAX_LENGTH) for batch in packed]),
    )
    parts, bottom = [], 0.0
    for name, grids in ways:
        room = sum(width * len(batch) for batch, width in grids)
        share = f"{name}: {100 * (room - sum(lengths)) / room:.0f}% padding"
        parts.append(label(0, bottom + 18, share, bold=True))
        left = 0.0
        for batch, width in grids:
            parts += grid(left, bottom + 28, batch, width)
            left += CELL * MAX_LENGTH + 30
        bottom += 28 + CELL * NUM_ROWS + 18
    return page(parts, bottom)


def pack(lengths: Sequence[int]) -> list[list[int]]:
    """Return rows of lengths that fit into MAX_LENGTH: each goes where it first fits."""
    rows: list[list[int]] = []
    for length in sorted(lengths, reverse=True):
        fitting = (row for row in rows if sum(row) + length <= MAX_LENGTH)
        row = next(fitting, None)
        if row is None:
            rows.append([length])
        else:
            row.append(length)
    return rows


def grid(left: float, top: float, batch: Sequence[Sequence[int]], width: int) -> list[str]:
    """Return a batch: each row's sequences in colour, its padding in grey."""
    parts = []
    for number, row in enumerate(batch):
        y, at = top + number * CELL, 0
        height = f'y="{y}" height="{CELL - 1.5}"'
        parts.append(f'<rect x="{left}" {height} width="{CELL * width}" fill="{GREY}"/>')
        for index, length in enumerate(row):
            colour = (BLUE, ORANGE)[index % 2]
            x = left + CELL * at
            parts.append(f'<rect x="{x}" {height} width="{CELL * length}" fill="{colour}"/>')
            at += length
    return parts


def draw_speed() -> str:
    """Return bars of README's table; of a range, the darker one is the smaller end."""
    table = (CHECKOUT / "README.md").read_text(encoding="utf-8").partition("## What it beats")[2]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([\d.]+)(?: to ([\d.]+))? \|$", table, re.M)
    parts, scale = [], 480 / max(float(most or least) for _, _, least, most in rows)
    for number, (job, beside, least, most) in enumerate(rows):
        y = 34 * number
        parts.append(label(0, y + 14, job))
        parts.append(label(0, y + 28, f"beside {beside.replace('`', '')}", size=11))
        for end, opacity in ((most or least, 0.45), (least, 1)):
            width = scale * float(end)
            parts.append(
                f'<rect x="330" y="{y + 5}" width="{width:.1f}" height="20" fill="{BLUE}"'
                f' opacity="{opacity}"/>'
            )
        times = f"{least} to {most}" if most else least
        parts.append(label(338 + scale * float(most or least), y + 20, f"{times} times", size=12))
    return page(parts, 34 * len(rows))


def draw_recipe() -> str:
    """Return the stages of the guide's recipe side by side: shares of stores, rates of masking."""
    recipe = read_recipe()
    total, left, parts = sum(stage.tokens or 0 for stage in recipe.stages), 0.0, []
    for number, stage in enumerate(recipe.stages, 1):
        width, top = WIDTH * (stage.tokens or 0) / total, 48.0
        assert stage.mixture is not None and stage.masking is not None
        parts.append(label(left, 16, f"stage {number}: {stage.tokens:,.0f} tokens", bold=True))
        said = f"{stage.max_seq_length} positions, {stage.batching}"
        parts.append(label(left, 36, said, size=12))
        for (name, share), colour in zip(stage.mixture.items(), (BLUE, ORANGE), strict=True):
            height = 120 * share / sum(stage.mixture.values())
            parts.append(box(left, top, width - 4, height, colour))
            words = f"{name} {share:.0%}"
            parts.append(label(left + 10, top + height / 2 + 5, words, fill="white"))
            top += height
        rate = stage.masking.rate
        begin, end = (rate.start, rate.end) if isinstance(rate, Ramp) else (rate or 0, rate or 0)
        heights = [240 - 200 * each for each in (begin, end)]
        corners = f"{left},{heights[0]} {left + width - 4},{heights[1]} {left + width - 4},240"
        parts.append(f'<polygon points="{corners} {left},240" fill="{INK}" opacity="0.75"/>')
        changes = f"{begin:.0%}" if begin == end else f"{begin:.0%} to {end:.0%}"
        parts.append(label(left + 10, 230, f"{changes} masked", fill="white"))
        left += width
    return page(parts, 240)


def read_recipe() -> Recipe:
    """Return the recipe of the guide."""
    guide = (CHECKOUT / "docs" / "guides" / "recipes.md").read_text(encoding="utf-8")
    text = guide.partition("```yaml\n")[2].partition("```")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.yaml"
        path.write_text(text, encoding="utf-8")
        return Recipe.from_file(path)


def box(left: float, top: float, width: float, height: float, colour: str) -> str:
    """Return a rectangle."""
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' fill="{colour}"/>'
    )


def label(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 14,
    bold: bool = False,
    middle: bool = False,
    fill: str = "",
) -> str:
    """Return a line of text."""
    more = f' fill="{fill}"' if fill else ""
    more += (' font-weight="bold"' if bold else "") + (' text-anchor="middle"' if middle else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{more}>{escape(text)}</text>'


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return an arrow from one point to another."""
    return (
        f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{INK}" marker-end="url(#head)"/>'
    )


def page(parts: Sequence[str], height: float) -> str:
    """Return a picture on a white card, which is readable on any page."""
    border = 16
    width, height = WIDTH + 2 * border, height + 2 * border
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}"'
            f' font-family="sans-serif" fill="{INK}">',
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
            ' markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
            f'<rect width="{width}" height="{height:.0f}" rx="10" fill="white"/>',
            f'<g transform="translate({border},{border})">',
            *parts,
            "</g>",
            "</svg>\n",
        ]
    )


DIAGRAMS = {
    "way": draw_way,
    "padding": draw_padding,
    "recipe": draw_recipe,
    "speed": draw_speed,
}


if __name__ == "__main__":
    main()
