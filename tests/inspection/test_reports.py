"""Checks and plans are shown in a terminal and on a page."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.content import Plot
from bert_data.inspection.page import open_page
from bert_data.inspection.reports import draw_plot, show_check
from bert_data.inspection.set_check import check_set
from bert_data.inspection.terminal import Terminal
from bert_data.objectives.making import InstanceConfig
from tests.inspection.making import make_records, write_set


def test_a_report(tmp_path: Path) -> None:
    text = {"num_documents": 1, "num_unknown": 600, "num_tokens": 9000}
    pattern = write_set(tmp_path, make_records(200, 0), counts={"text": text})
    report = check_set(CheckConfig(input_patterns=pattern))
    shown = io.StringIO()
    show_check(Terminal(shown), report)
    lines = shown.getvalue().splitlines()
    assert lines[0].startswith("200 records of ")
    assert lines[0].endswith(" tokens in 2 files")
    findings = lines[lines.index("Findings") + 1 :]
    assert findings[0].startswith("  harmful  all random next sentences (")
    assert findings[1].startswith("  doubtful  6.7% of the tokens of text are [UNK]")
    share = next(line for line in lines if line.startswith("shown as [MASK]"))
    figure = next(each for each in report.figures if each.name == "shown as [MASK]")
    assert f"{figure.part:,} of {figure.whole:,}" in share
    assert "80.0%" in share
    assert any(line.startswith("buckets ") for line in lines)
    bars = lines[lines.index("Lengths of records") + 2 : lines.index("Records of each shard") - 1]
    assert sum(int(line.split()[1]) for line in bars) == 200
    assert len(bars) <= 16
    with open_page(str(tmp_path / "report.html"), "a <set>") as page:
        show_check(page, report)
    html = (tmp_path / "report.html").read_text()
    assert html.count("<svg") == 2
    assert "<h1>a &lt;set&gt;</h1>" in html
    assert "all random next sentences" in html


GOLDEN = Path(__file__).with_name("golden_report.txt")
FORMATS = (
    {"record_layout": "ragged"},
    {"record_layout": "reference"},
    {"output_format": "parquet"},
)


@pytest.mark.parametrize("options", FORMATS, ids=lambda options: "-".join(options.values()))
def test_the_golden_report_is_that_of_every_format(
    options: dict[str, str], tmp_path: Path, small_text: Path, small_vocabulary: Path
) -> None:
    create_dataset(
        DatasetConfig(
            input_file=str(small_text),
            output_file=str(tmp_path / "set@2"),
            vocab_file=str(small_vocabulary),
            instances=InstanceConfig(max_seq_length=64, max_predictions_per_seq=8, dupe_factor=3),
            **options,  # type: ignore[arg-type]
        )
    )
    config = CheckConfig(
        input_patterns=str(tmp_path / "set-*"),
        vocab_file=str(small_vocabulary),
        text_file=str(small_text),
    )
    shown = io.StringIO()
    show_check(Terminal(shown), check_set(config))
    assert shown.getvalue() == GOLDEN.read_text()


def test_a_good_set(tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(200, 0), num_shards=1)
    shown = io.StringIO()
    show_check(Terminal(shown), check_set(CheckConfig(input_patterns=pattern)))
    assert "Findings\nnone: the set is undamaged, and as it should be\n" in shown.getvalue()
    assert "Records of each shard" not in shown.getvalue()


def draw(**settings: object) -> ET.Element:
    options = {"title": "t", "x_label": "tokens", "y_label": "records", **settings}
    return ET.fromstring(draw_plot(Plot(**options)))  # type: ignore[arg-type]


def test_bars_are_as_long_as_their_values_and_say_them() -> None:
    svg = draw(x=("1-64", "65-128", "more"), series={"a": (3000, 6000, 0), "b": (0.25, 1, 2)})
    bars = [rect for rect in svg.iter("rect") if rect.find("title") is not None]
    widths = [float(bar.attrib["width"]) for bar in bars]
    assert widths[2] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[4] == 0
    titles = [title.text for bar in bars for title in bar.iter("title")]
    assert titles[:3] == ["a, 1-64: 3,000", "b, 1-64: 0.25", "a, 65-128: 6,000"]
    places = [float(bar.attrib["y"]) for bar in bars]
    assert places == sorted(set(places))
    assert places[-1] < float(svg.attrib["height"]) - 12


def test_titles_axes_and_legend_are_there_and_escaped() -> None:
    svg = draw(title="<b> & 'c'", x=("1",), series={"A": (1,), "B": (2e12,)})
    texts = [text.text for text in svg.iter("text")]
    assert {"<b> & 'c'", "tokens", "records", "A", "B", "1", "2,000,000,000,000"} <= set(texts)


def test_a_plot_without_values_says_so() -> None:
    svg = draw(x=(), series={"a": ()})
    assert "no values" in [text.text for text in svg.iter("text")]
