"""Reports: well-formed, with a bar a step, and histograms with a line at the threshold."""

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from bert_data.curation.reporting.report import histogram, make_report
from bert_data.curation.reporting.run_summary import percent, summarize
from bert_data.curation.running.counts import bin_values
from tests.curation.corpora import write_rows
from tests.curation.fake_steps import Few, Language, Unique, Without
from tests.curation.running.test_run import run, web  # noqa: F401 (a fixture)


@pytest.mark.parametrize(
    ("values", "threshold", "place"),
    [([1, 2, 4, 4], 4.0, 200), ([-2, 0, 2], 0.0, 150), ([0], 5.0, 300), ([3, 3], 0.0, 0)],
)
def test_a_histogram_orders_values_and_shows_the_threshold(values, threshold, place):
    svg = ElementTree.fromstring(histogram("a&b", bin_values(values), threshold))
    bars = list(svg.iter("rect"))
    assert len(bars) == len(set(values))
    heights = [float(bar.get("height", "")) for bar in bars]
    assert heights[-1] == max(heights) == 90
    (line,) = svg.iter("line")
    assert float(line.get("x1", "")) == pytest.approx(place, abs=0.1)


def test_many_bins_are_joined():
    values = [2.0 ** (n / 4 + 0.1) for n in range(1000)]
    svg = ElementTree.fromstring(histogram("a", bin_values(values), None))
    assert len(list(svg.iter("rect"))) <= 60


class Balanced(HTMLParser):
    """Checks that what is opened is closed."""

    VOID = ("meta",)

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_has_all_steps_and_rules(tmp_path):
    rows = [{"text": "y", "language": "a"}]
    rows += [{"text": f"<b>{n} x&y {'x' * (n % 6)}", "language": "a<b"[n % 3]} for n in range(50)]
    write_rows(tmp_path / "web.jsonl", rows)
    done = run(tmp_path, [Few(), Unique(), Language(languages=("a", "<")), Without()])
    page = make_report(done)
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert {"svg", "table", "figure"} <= parser.seen
    for text in ("few", "max_xs", "max_ys", "(threshold 3)", "max_earlier", "languages", "ledger"):
        assert text in page
    assert "a<b" not in page
    bars = [int(value) for value in re.findall('<meter value="([0-9]+)" max="51">', page)]
    assert bars == [counts.num_documents for counts in done.counts]
    assert "://" not in page and "<script" not in page
    summary = summarize(done)
    assert "documents (" in summary.split("\n")[0]
    assert f"max_xs {done.counts[1].num_rejected}" in summary
    assert "languages " in summary
    *_, language, without = done.counts
    assert language.counted.keys() == {"a", "b", "<"}
    assert f"\n  counted        language: a {language.counted['a']}, b " in summary.replace(
        "<", "b"
    )
    assert without.rejected == {"empty_text": 1}  # "y", of which nothing is left, is not edited
    assert f"\n  edited         without: letters {without.num_documents}\n" in summary
    assert f"<p>Edited: letters {without.num_documents}</p>" in page and "<p>Counted: " in page


def test_shares_are_not_rounded_to_all_or_nothing():
    percentages = [percent(part, 3000) for part in (0, 1, 3, 1500, 2997, 2999, 3000, 6000)]
    assert percentages == ["0.0%", "<0.1%", "0.1%", "50.0%", "99.9%", ">99.9%", "100.0%", "200.0%"]
    assert percent(0, 0) == "none"
