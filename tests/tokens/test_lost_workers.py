"""Stores of partitions whose workers a cluster gives up, while they go on working."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from bert_data.storage import RunLock, hidden_work_folder
from bert_data.tokens import store_making
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.work import THIS_MACHINE
from bert_data.work.engine import Ray
from bert_data.work.executor import InProcess


@pytest.fixture
def config(config) -> StoreConfig:
    return dataclasses.replace(config, num_partitions=2, engine=Ray())


def stores_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_task_that_another_worker_has_done_meanwhile_is_done(
    config, monkeypatch, tmp_path, overwrite
):
    class Twice(InProcess):
        def _finish(self, pending: Any) -> Any:
            function, item = pending
            first = function(item)
            assert function(item) == first
            return first

    monkeypatch.setattr(store_making, "open_executor", lambda *_, **__: Twice())
    stores = make_stores(dataclasses.replace(config, overwrite=overwrite))
    assert [store.is_new for store in stores] == [True, True]
    monkeypatch.undo()
    local = {
        "num_workers": 1,
        "engine": THIS_MACHINE,
        "output_prefix": str(tmp_path / "local" / "s"),
    }
    make_stores(dataclasses.replace(config, **local))
    assert stores_in(tmp_path / "out") == stores_in(tmp_path / "local")


def test_a_store_that_another_worker_writes_is_waited_for(config, monkeypatch, tmp_path):
    (tmp_path / "out").mkdir()
    locks = [RunLock(hidden_work_folder(f"{config.output_prefix}-00001-of-00002", "lock"))]
    monkeypatch.setattr(store_making, "open_executor", lambda *_, **__: InProcess())
    monkeypatch.setattr(store_making.time, "sleep", lambda _: locks.pop().release())
    assert len(make_stores(config)) == 2
    assert not locks


def test_a_worker_that_does_not_end_is_an_error(config, monkeypatch, tmp_path):
    (tmp_path / "out").mkdir()
    lock = RunLock(hidden_work_folder(f"{config.output_prefix}-00001-of-00002", "lock"))
    monkeypatch.setattr(store_making, "open_executor", lambda *_, **__: InProcess())
    monkeypatch.setattr(store_making, "WAIT_SECONDS", 0)
    with pytest.raises(BlockingIOError, match="another run is writing this output"):
        make_stores(config)
    lock.release()
