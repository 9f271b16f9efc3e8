"""Rounds over parts and ranges, against the same in plain Python; killed ones are resumed."""

import collections
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.work import open_executor, rounds, tasks
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.rounds import Part, Rounds
from bert_data.work.sorted_records import Layout

KEYS = Layout(("key", "document"), num_keys=2)
SIZES = Layout(("document", "size", "total", "place", "leader", "trailer"), num_keys=1)


def write_keys(part, own, writers):
    keys = np.fromfile(part.path, np.uint64)
    writers["keys"].add(key=keys, document=part.first + np.arange(len(keys)))
    return {"keys": len(keys)}


def weigh(records):
    return records["document"] + np.uint64(1)


def count_groups(reader: RangeReader, writers):
    for batch in reader.batches(1, weigh):
        writers["sizes"].add(
            document=batch.records["document"],
            size=batch.sizes,
            total=batch.totals,
            place=batch.places,
            leader=batch.firsts("document"),
            trailer=batch.lasts("document"),
        )


def check_own(part, own, writers):
    sizes = own["sizes"].records()
    assert sizes["document"].tolist() == list(range(part.first, part.end))
    writers["sizes"].add(**{name: sizes[name] for name in SIZES.fields})


def make_parts(folder, all_keys):
    parts, first = [], 0
    for number, keys in enumerate(all_keys):
        path = str(folder / f"part-{number}")
        np.array(keys, np.uint64).tofile(path)
        parts.append(Part(path, "web", first, first + len(keys), 8 * len(keys)))
        first += len(keys)
    return parts


def run_all(folder, parts, executor=None, max_bytes=0):
    run = Rounds(str(folder / "work/count"), parts, max_bytes, executor)
    keys = run.over_parts("keys", write_keys, {"keys": KEYS})["keys"]
    sizes = run.over_ranges("groups", count_groups, keys, {"sizes": SIZES})["sizes"]
    assert not any(Path(file.path).exists() for file in keys.files)  # no later round reads them
    sizes = run.over_parts("own", check_own, {"sizes": SIZES}, {"sizes": sizes}, keeps=True)[
        "sizes"
    ]
    assert run.counted == {"keys": sum(part.end - part.first for part in parts)}
    return RangeReader(sizes, Range(), 1 << 20).records().tolist()


def plain_rows(all_keys):
    groups = collections.defaultdict(list)
    keys = [key for part in all_keys for key in part]
    for document, key in enumerate(keys):
        groups[key].append(document)
    return [
        (
            document,
            len(groups[key]),
            sum(each + 1 for each in groups[key]),
            groups[key].index(document),
            groups[key][0],
            groups[key][-1],
        )
        for document, key in enumerate(keys)
    ]


keys = st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1), st.integers(2**63, 2**63 + 40))


@pytest.mark.slow
@given(
    st.lists(st.lists(keys, max_size=60), min_size=1, max_size=5),
    st.sampled_from([16, 48, 400, 2000, 1 << 20]),
    st.integers(1, 9),
)
def test_any_division_and_any_portions_give_the_same(tmp_path_factory, all_keys, size, max_files):
    folder = tmp_path_factory.mktemp("rounds")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "PORTION_SHARE", rounds.MIN_BYTES // size)
        patch.setattr(rounds, "TASK_SHARE", rounds.MIN_BYTES // size)
        patch.setattr(rounds, "MAX_FILES", max_files)
        patch.setattr(rounds, "MERGED_FILES", max(max_files, 2))
        results = run_all(folder, make_parts(folder, all_keys))
    assert results == plain_rows(all_keys)


class Killed(BaseException):
    pass


def small_tasks(monkeypatch):
    monkeypatch.setattr(rounds, "PORTION_SHARE", rounds.MIN_BYTES // 400)
    monkeypatch.setattr(rounds, "TASK_SHARE", rounds.MIN_BYTES // 800)
    monkeypatch.setattr(rounds, "MAX_FILES", 4)
    monkeypatch.setattr(rounds, "MERGED_FILES", 2)


def test_a_kill_in_any_task_of_any_round_changes_nothing(tmp_path, monkeypatch):
    small_tasks(monkeypatch)
    draw = np.random.default_rng(3)
    all_keys = [draw.integers(0, 40, 50).tolist() for _ in range(5)]
    parts = make_parts(tmp_path, all_keys)
    call, killed_at, calls = tasks.FolderTask.__call__, [0], [0]

    def dying(self, item):
        report = call(self, item)
        calls[0] += 1
        if calls[0] == killed_at[0]:
            raise Killed
        return report

    monkeypatch.setattr(tasks.FolderTask, "__call__", dying)
    num_kills, folder = 0, tmp_path / "killed"
    while True:
        num_kills += 1
        killed_at[0], calls[0] = 2, 0  # each run does one more task
        try:
            with open_executor(1) as executor:
                results = run_all(folder, parts, executor)
            break
        except Killed:
            pass
    assert num_kills > 15
    assert results == plain_rows(all_keys)
    names = {name.split("-", 2)[2] for name in os.listdir(folder / "work")}
    assert {"keys", "keys-keys-merged", "groups", "own"} <= names


@pytest.mark.process
def test_processes_write_the_same_bytes(tmp_path, monkeypatch):
    draw = np.random.default_rng(4)
    all_keys = [draw.integers(0, 9000, 20_000).tolist() for _ in range(6)]
    parts = make_parts(tmp_path, all_keys)
    written = []
    for num_workers in (1, 2):
        folder = tmp_path / str(num_workers)
        with open_executor(num_workers) as executor:
            rows = run_all(folder, parts, executor)
        files = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("task")}
        written.append((rows, files))
    assert written[0] == written[1]
    assert len(written[0][1]) > 3
