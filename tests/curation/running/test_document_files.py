"""Documents are dealt to files in their order; names of files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.running.document_files import output_paths, plan_files


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 6))
def test_every_document_is_in_one_file(counts, num_files):
    spools = [(f"spool{n}", "a", count) for n, count in enumerate(counts)]
    paths = [f"file{n}" for n in range(num_files)]
    if sum(counts) < num_files:
        with pytest.raises(ValueError, match=r"document\(s\) are left for"):
            plan_files(spools, paths)
        return
    plans = plan_files(spools, paths)
    dealt = [
        [(part.path, n) for part in plan.parts for n in range(part.start, part.end)]
        for plan in plans
    ]
    assert [pair for file in dealt for pair in file] == [
        (name, n) for name, _, count in spools for n in range(count)
    ]
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert [plan.name for plan in plans] == paths


def test_endings_stay_at_the_end():
    assert output_paths("a/b.jsonl.gz@2") == (
        "a/b.jsonl.gz",
        ["a/b-00000-of-00002.jsonl.gz", "a/b-00001-of-00002.jsonl.gz"],
    )
    assert output_paths("b.txt@1") == ("b.txt", ["b-00000-of-00001.txt"])
    assert output_paths("b@1") == ("b", ["b-00000-of-00001"])
    assert output_paths("v1.5@1") == ("v1.5", ["v1.5-00000-of-00001"])
    assert output_paths("a.txt,b.parquet") == ("a.txt", ["a.txt", "b.parquet"])
