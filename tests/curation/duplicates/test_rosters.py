"""The order of documents: by priority, length and id, whatever shards they come in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.duplicates.rosters import (
    RosterWriter,
    groups_of_equals,
    id_of,
    merge_ids,
    open_ids,
    read_roster,
)


def write_shards(folder, shards):
    paths = [folder / str(number) for number in range(len(shards))]
    for shard, path in zip(shards, paths, strict=True):
        with RosterWriter(path) as writer:
            for document in shard:
                writer.add(document)
    return paths


def names_in_order(folder, shards, priority):
    paths = write_shards(folder, shards)
    roster = read_roster(paths, [shard[0].source for shard in shards], priority)
    merge_ids(paths, folder)
    ids = open_ids(folder)
    assert roster.first.tolist()[-1] == len(roster) == sum(map(len, shards))
    assert [roster.order[rank] for rank in roster.ranks()] == list(range(len(roster)))
    return [id_of(ids, number) for number in roster.order.tolist()]


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
        orders.append(names_in_order(tmp_path_factory.mktemp("roster"), shards, priority))
    assert orders[0] == orders[1]
    by_id = {each.id: each for each in documents}
    levels = [*priority, *(name for name in order if name not in priority)]
    keys = [(levels.index(i[0]), -by_id[i].num_bytes) for i in orders[0]]
    assert keys == sorted(keys)


def test_a_data_set_that_does_not_exist_is_told(tmp_path):
    paths = write_shards(tmp_path, [[Document("1", "wiki", "")], []])
    with pytest.raises(ValueError, match="names 'books'; the data sets are crawl, wiki"):
        read_roster(paths, ["wiki", "crawl"], ["wiki", "books"])


@given(st.lists(st.lists(st.sampled_from(["", "a", "bb", "é"]), max_size=5), min_size=1))
def test_groups(tmp_path_factory, shards):
    folder = tmp_path_factory.mktemp("digests")
    paths, texts = [], []
    for number, shard in enumerate(shards):
        path = folder / str(number)
        with RosterWriter(path) as roster:
            for row, text in enumerate(shard):
                document = Document(f"{number}/{row}", "web", "x" * (number + row))
                roster.add(document, text.encode())
        paths.append(path)
        texts += shard
    roster = read_roster(paths, ["web"] * len(paths), ())
    by_text: dict[str, list[int]] = {}
    for rank, number in enumerate(roster.order.tolist()):
        by_text.setdefault(texts[number], []).append(rank)
    expected = [ranks for ranks in by_text.values() if len(ranks) > 1]
    assert sorted(group.tolist() for group in groups_of_equals(paths, roster)) == sorted(expected)
