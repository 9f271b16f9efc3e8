"""The rank of documents: by priority, length and id, whatever shards they come in."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document, Measured
from bert_data.curation.duplicates.ranks import (
    EQUAL,
    KEPT,
    VALUES,
    RankWriter,
    decide_by,
    judge_duplicates,
    open_ids,
    write_digests,
)
from bert_data.curation.step import read_decisions
from bert_data.curation.steps.exact_duplicates import ExactDuplicates
from bert_data.work.sorted_records import RecordWriter, SortedRecords
from tests.curation.corpora import make_parts, make_rounds
from tests.hypotheses import examples


def write_shards(folder, shards):
    paths = [folder / str(number) for number in range(len(shards))]
    for shard, path in zip(shards, paths, strict=True):
        with RankWriter(path) as writer:
            for document in shard:
                writer.add(document, document.text.encode())
    return list(make_parts(shards, paths))


class Rows:
    """Stands in for a writer, and keeps what it gets."""

    def __init__(self):
        self.rows = []

    def add(self, **columns):
        assert set(columns) == set(EQUAL.fields)
        self.rows += zip(*(columns[name].tolist() for name in EQUAL.fields), strict=True)


def rows_of(parts, priority=()):
    rows, levels = Rows(), ExactDuplicates(priority=tuple(priority)).levels(parts)
    for part in parts:
        write_digests(levels, part, {}, {"equal": rows})
    return rows.rows


def names_in_order(folder, shards, priority):
    parts = write_shards(folder, shards)
    ids = [
        open_ids(part).row(i).tobytes().decode()
        for part in parts
        for i in range(part.end - part.first)
    ]
    assert ids == [document.id for shard in shards for document in shard]
    ranks = sorted(row[2:] for row in rows_of(parts, priority))
    assert sorted(rank[-1] for rank in ranks) == list(range(len(ids)))
    return [ids[rank[-1]] for rank in ranks]


@pytest.mark.slow
@examples(15)
@given(st.randoms(use_true_random=False), st.permutations("abc"), st.permutations("ab"))
def test_the_order_is_that_of_the_documents(tmp_path_factory, draw, order, priority):
    priority = priority[: draw.randrange(3)]
    documents = [
        Document(f"{source}/{number}é", source, "é" * draw.randrange(4))
        for source in "abc"
        for number in range(9)
    ]
    orders = []
    for _ in range(2):
        draw.shuffle(documents)
        shards = []
        for source in order:
            own = [each for each in documents if each.source == source]
            cut = draw.randrange(1, 9)
            shards += [own[:cut], own[cut:]]
        orders.append(names_in_order(tmp_path_factory.mktemp("ranks"), shards, priority))
    assert orders[0] == orders[1]
    by_id = {each.id: each for each in documents}
    levels = [*priority, *(name for name in order if name not in priority)]
    keys = [(levels.index(i[0]), -by_id[i].num_bytes) for i in orders[0]]
    assert keys == sorted(keys)


@examples(40)
@given(st.data(), st.integers(300, 4000))
def test_decisions_of_each_shard(tmp_path_factory, data, max_bytes):
    folder = tmp_path_factory.mktemp("decisions")
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    shards = [
        [Document(f"{'é' * 9 * row}{n}", "web", "x") for row in range(size)]
        for n, size in enumerate(sizes)
    ]
    total = sum(sizes)
    numbers = st.integers(0, total - 1)
    pairs = data.draw(st.dictionaries(numbers, numbers)) if total else {}
    values = data.draw(st.lists(st.tuples(numbers, *[st.floats(0, 1)] * 2))) if total else []
    paths = [folder / f"shard-{number}" for number in range(len(shards))]
    for shard, path in zip(shards, paths, strict=True):
        with RankWriter(path) as writer:
            for document in shard:
                writer.add(document)
    tables = []
    for layout, rows in ((VALUES, values), (KEPT, [(kept, n) for n, kept in pairs.items()])):
        writer = RecordWriter(layout, str(folder / layout.fields[0]), 100)
        columns = zip(*rows, strict=True) if rows else [()] * len(layout.fields)
        writer.add(**{name: np.array(c) for name, c in zip(layout.fields, columns, strict=True)})
        writer.flush()
        tables.append(SortedRecords(layout, tuple(writer.files)))
    parts = list(make_parts(shards, paths))
    decisions = decide_by(make_rounds(folder / "ids", parts, max_bytes), *tables)
    documents = list(itertools.chain(*shards))
    for part, shard in zip(parts, shards, strict=True):
        decided = read_decisions(decisions, part)
        verdicts = judge_duplicates(decided, shard, "max_x", 0.6, default=0.125)
        for number, verdict in zip(range(part.first, part.end), verdicts, strict=True):
            own = [row for row in values if row[0] == number]
            is_rejected = number in pairs
            value = max((row[1] if is_rejected else row[2] for row in own), default=0.125)
            expected = [Measured("max_x", value, 0.6, failed=is_rejected)]
            if is_rejected:
                expected.append(Measured("duplicate_of", documents[pairs[number]].id, ""))
            assert verdict.measured == tuple(expected)
