"""Statistics, shares and histograms are those of the values."""

import collections
import io

from hypothesis import given
from hypothesis import strategies as st

from bert_data.inspection.content import Plot
from bert_data.inspection.figures import share, show_distributions, summarize
from bert_data.inspection.terminal import Terminal


class Plots(Terminal):
    """Keeps the plots that are shown."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.plots: list[Plot] = []

    def plot(self, plot: Plot) -> None:
        self.plots.append(plot)


def test_a_share_is_rounded_to_all_only_if_it_is_all() -> None:
    assert (share(99_999, 100_000), share(5, 5), share(1, 3)) == ("99.9%", "100.0%", "33.3%")


@given(st.lists(st.integers(-5, 10**9), min_size=1), st.lists(st.integers(0, 300)))
def test_histograms_hold_every_value_once(one: list[int], other: list[int]) -> None:
    output = Plots()
    pair = collections.Counter(one), collections.Counter(other)
    show_distributions(output, {"tokens": pair})
    assert len(output.plots) == int(pair[0] != pair[1])
    for plot in output.plots:
        assert [sum(values) for values in plot.series.values()] == [len(one), len(other)]
        assert len(plot.x) <= 24


def test_statistics_are_those_of_the_values() -> None:
    assert summarize({2: 1, 4: 2, 1000: 1}) == {
        "mean": "252.50",
        "least": "2",
        "median": "4",
        "most": "1,000",
    }
    assert summarize({}) == {}
