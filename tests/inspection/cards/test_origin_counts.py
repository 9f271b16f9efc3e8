from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.steps.url_filter import normal_host, registered_domain
from bert_data.inspection.cards.origin_counts import (
    OriginCounter,
    Total,
    Totals,
    domain_of,
    read_date,
)
from bert_data.tokens.provenance import text_array


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T12:", "2024-05-01"),
        ("2024-05-01 00:", "2024-05-01"),
        ("20240501120000", "2024-05-01"),
        ("2024-05", "2024-05"),
        ("2024", "2024"),
        ("20240501", "2024-05-01"),
        ("2024-13-01", None),
        ("2023-02-29", None),
        ("1714521600", None),
        ("1 May 2024", None),
        ("", None),
    ],
)
def test_dates(text, date):
    assert read_date(text) == date


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://a.b.example.co.uk:80/x", "example.co.uk"),
        ("HTTP://User@EXAMPLE.org?x#y", "example.org"),
        ("//example.org", "example.org"),
        ("example.org/a/b", "example.org"),
        ("http://10.0.0.1/x", "10.0.0.1"),
        ("https://münchen.de/", "xn--mnchen-3ya.de"),
        ("file.txt/", "file.txt"),
        ("localhost", ""),
        ("co.uk", ""),
    ],
)
def test_domains(url, domain, tmp_path):
    counter = OriginCounter(str(tmp_path))
    counter.add({"url": text_array([f"{url}/x?y=//z.com#\nq", None])}, np.array([5, 7]))
    found = counter.result()
    if "?" not in url:
        assert [total.name for total in found.totals["domain"].by_name()] == [domain] * bool(domain)
    assert found.num_urls == 1 and (found.num_documents, found.volume) == (2, 12)


HOSTS = """com a.com x.a.com uk co.uk a.co.uk x.a.co.uk a.ck b.a.ck www.ck c.b.a.ck a.kobe.jp
b.a.kobe.jp city.kobe.jp a.city.kobe.jp x.jp y.x.jp a.k12.ma.us b.a.k12.ma.us a.b.nosuchending
1.2.3.4 [::1] a..com .com a.xn--p1ai b.a.xn--p1ai x.github.io a.b.c.blogspot.com a.1 a.Com."""


@pytest.mark.parametrize("host", ["", *HOSTS.split()])
def test_domains_are_those_of_the_public_suffix_list(host):
    assert domain_of(host) == registered_domain(normal_host(host))


def test_crawled_sources_alone(tmp_path):
    columns = {
        "source": text_array(["web", "wiki", None, "web"]),
        "url": text_array(["http://a.com", "http://b.com", "http://c.com", None]),
        "date": text_array(["2024-03", "2020-01-01", "2021", "soon"]),
    }
    counter = OriginCounter(str(tmp_path), ["web"])
    counter.add(columns, np.array([3, 4, 5, 6]))
    counter.add({}, np.array([1, 1]))
    counter.add_silent(10, 100)
    found = counter.result()
    assert (found.num_documents, found.num_silent, found.volume) == (16, 10, 120)
    assert found.domains.largest == [("a.com", 1, 3)] and found.dates == ("2024-03", "2024-03")
    assert (found.num_urls, found.num_dates, found.num_odd_dates) == (1, 2, 1)
    assert found.named["source"].largest == [("web", 2, 9), ("wiki", 1, 4)]


names = st.text('ab.\n"é', max_size=3)
adds = st.lists(
    st.lists(st.tuples(names, st.integers(1, 3), st.integers(0, 9)), max_size=6), max_size=8
)


@given(adds, st.integers(1, 4))
def test_totals_are_those_of_a_counter(tmp_path_factory, batches, max_names):
    folder = tmp_path_factory.mktemp("totals")
    totals = Totals(str(folder / "t"), max_names)
    counts, volumes = Counter(), Counter()
    for batch in batches:
        totals.add(Total(*each) for each in batch)
        for name, count, volume in batch:
            counts[name] += count
            volumes[name] += volume
    expected = [(name, counts[name], volumes[name]) for name in sorted(counts)]
    assert [*totals.by_name()] == expected
    largest = sorted(expected, key=lambda total: (-total[2], total[0]))
    assert [*totals.by_volume()] == largest == [*totals.by_volume()]
    assert (totals.num_documents, totals.volume) == (counts.total(), volumes.total())


def test_memory_is_bounded_by_files(tmp_path):
    totals = Totals(str(tmp_path / "t"), 4)
    totals.add(Total(f"{n:02}", 1, n) for n in range(3))
    assert not [*tmp_path.iterdir()]
    totals.add(Total(f"{n:02}", 1, n) for n in range(2, 6))
    assert len([*tmp_path.iterdir()]) == 1
    assert [total.name for total in totals.by_volume()] == ["05", "02", "04", "03", "01", "00"]
