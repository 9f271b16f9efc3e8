"""The summary has the removed shares of data sets, which add up."""

from bert_data.curation.reporting.run_summary import removals_table, removed_bytes
from bert_data.curation.running.counts import StepCounts


def counts(*steps: tuple[str, int, int]) -> list[StepCounts]:
    return [StepCounts(label=n, num_documents=d, num_bytes=b) for n, d, b in steps]


BY_DATA_SET = {
    "wiki": counts(("read", 9, 2_000_000), ("length", 9, 2_000_000), ("privacy", 9, 2_000_010),
                   ("near_duplicates", 8, 1_500_000), ("mix", 16, 3_000_000)),
    "w&b": counts(("read", 9, 1_000_000), ("length", 4, 400_000), ("privacy", 4, 399_999),
                  ("near_duplicates", 1, 100_000), ("mix", 1, 100_000)),
}  # fmt: skip


def test_steps_that_only_repeat_or_remove_nothing_are_left_out():
    assert removed_bytes(BY_DATA_SET) == {
        "wiki": {"length": 0, "privacy": 0, "near_duplicates": 500_010},
        "w&b": {"length": 600_000, "privacy": 1, "near_duplicates": 299_999},
    }
    alone = {"wiki": BY_DATA_SET["wiki"][:3]}
    assert removed_bytes(alone) == {"wiki": {}}


def test_a_mixture_may_repeat_one_data_set_and_cut_another():
    """Of web, it rejected 60 kB and passes 40 kB twice; of books, there are no copies."""
    web, wiki, books = (counts(("read", 10, 100_000), ("mix", *after)) for after in
                        ((8, 80_000), (20, 200_000), (3, 30_000)))  # fmt: skip
    web[1].num_rejected, web[1].num_rejected_bytes = 6, 60_000
    books[1].num_rejected, books[1].num_rejected_bytes = 7, 70_000
    by_data_set = {"web": web, "wiki": wiki, "books": books}
    assert removed_bytes(by_data_set) == {
        "web": {"mix": 60_000}, "wiki": {"mix": 0}, "books": {"mix": 70_000},
    }  # fmt: skip
    assert removals_table(by_data_set)[2:] == [
        ["mix", "60.0%", "", "70.0%"],
        ["kept, MB", "0.04", "0.10", "0.03"],
        ["written, MB", "0.08", "0.20", "0.03"],
    ]


def test_a_table():
    assert removals_table(BY_DATA_SET) == [
        ["step", "wiki", "w&b"],
        ["read, MB", "2.00", "1.00"],
        ["length", "", "60.0%"],
        ["privacy", "", "<0.1%"],
        ["near_duplicates", "25.0%", "30.0%"],
        ["kept, MB", "1.50", "0.10"],
        ["written, MB", "3.00", "0.10"],
    ]


def test_nothing_was_read():
    empty = {"a": counts(("read", 0, 0), ("length", 0, 0))}
    assert removals_table(empty) == [["step", "a"], ["read, MB", "0.00"], ["kept, MB", "0.00"]]
