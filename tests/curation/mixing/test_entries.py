"""Numbers by data set and bucket, as users write them."""

import pytest

from bert_data.curation.mixing.entries import (
    bucketed_sources,
    check_buckets,
    check_sources,
    find_entry,
    idle_entries,
    numbers_by_name,
)

FLAT = {"web/head": 3, "web": 0.5, "*/tail": 0.1, "wiki": 2}


@pytest.mark.parametrize(
    "entries",
    [
        FLAT,
        {"web": {"head": 3, "*": 0.5}, "*": {"tail": 0.1}, "wiki": 2},
        ["web/head:3", "web:0.5", "*/tail:0.1", "wiki:2"],
        {"web": {"head": 3}, "web/*": 0.5, "*/tail:0.1": None, "wiki:2": None},
    ],
)
def test_all_ways_to_write_them_mean_the_same(entries):
    assert numbers_by_name("epochs", entries) == FLAT


def test_the_entry_of_a_bucket_is_the_most_particular_one():
    assert find_entry(FLAT, "web", "head") == "web/head"
    assert find_entry(FLAT, "web", "tail") == "*/tail"
    assert find_entry(FLAT, "web", "middle") == find_entry(FLAT, "web", None) == "web"
    assert find_entry(FLAT, "books", "middle") is None
    assert find_entry({"a/b/c": 1, "a": 2}, "a", "b/c") == "a/b/c"


def test_which_data_sets_have_buckets():
    assert bucketed_sources(FLAT) == {"web", "*"}
    assert bucketed_sources(["web", "wiki"]) == frozenset()


def test_what_nothing_is_called_is_told():
    for entries, sentence in (
        ({"wep/head": 1}, "epochs names 'wep'; the data sets are web, wiki"),
        ({"*": 1}, r"epochs names '\*'; the data sets are web, wiki"),
    ):
        with pytest.raises(ValueError, match=sentence):
            check_sources("epochs", entries, ["web", "wiki"])
    check_sources("epochs", FLAT, ["web", "wiki"])
    with pytest.raises(
        ValueError, match="epochs names the bucket 'head'; the buckets are tail, top"
    ):
        check_buckets("epochs", FLAT, ["web/top", "wiki/tail", "books"])
    check_buckets("epochs", FLAT, ["web/head", "wiki/tail", "books"])


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (0.5, "epochs is 0.5; NAME: NUMBER is needed"),
        ({"a": {"b": 1}, "a/b": 2}, "epochs has 'a/b'; each data set's name is needed once"),
        ({"a": 1, "a/*": 2}, "epochs has 'a'; each data set's name is needed once"),
        ({3: {"b": 1}, "3/b": 1}, "each data set's name is needed once"),
        ([["a"]], r"epochs has \['a'\]; each data set's name is needed once"),
    ],
)
def test_other_forms_are_refused(entries, sentence):
    with pytest.raises(ValueError, match=sentence):
        numbers_by_name("epochs", entries)


def test_idle_entries_name_what_is_not_there():
    cells = ["web/head", "web/tail", "wiki"]
    assert idle_entries(["web", "web/head", "*/tail", "wiki"], cells) == []
    assert idle_entries(["web/x", "wiki/head", "*/x", "books"], cells) == [
        "web/x", "wiki/head", "*/x", "books",
    ]  # fmt: skip
