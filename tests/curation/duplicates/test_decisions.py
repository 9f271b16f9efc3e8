"""Decisions on documents come back for the documents of each shard, with the kept one's id."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.duplicates.decisions import KEPT, VALUES, decide_by, judge_duplicates
from bert_data.curation.duplicates.ranks import RankWriter
from bert_data.curation.step import read_decisions
from bert_data.curation.verdict import Measured
from bert_data.work import rounds as rounds_module
from bert_data.work.records import Records, RecordWriter
from bert_data.work.rounds import Rounds
from tests.curation.corpora import make_parts


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
        tables.append(Records(layout, tuple(writer.files)))
    parts = list(make_parts(shards, paths))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_module, "_MIN_BYTES", 1)
        patch.setattr(rounds_module, "_PROCESS_BYTES", 0)
        decisions = decide_by(Rounds(str(folder / "ids"), parts, max_bytes), *tables)
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
