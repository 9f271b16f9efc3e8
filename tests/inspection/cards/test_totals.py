from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bert_data.inspection.cards.totals import Total, Totals

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
