"""The choice of what runs tasks."""

import pytest

from bert_data.work import Engine, open_executor
from bert_data.work.executor import InProcess
from bert_data.work.ray_tasks import RayTasks


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "spark"}, "^engine is 'spark'; it must be one of local, ray$"),
        ({"ray_address": "auto"}, "^--ray_address needs --engine=ray$"),
    ],
)
def test_settings_that_cannot_be_used(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Engine(**options)


def test_all_workers_of_a_cluster_are_counted_as_it_grows():
    assert Engine().count_workers(0) >= 1
    assert Engine(name="ray").count_workers(0) == 0
    assert Engine(name="ray").count_workers(7) == 7
    with pytest.raises(ValueError, match=r"^num_workers is -1; 0 to 1,024 is allowed$"):
        Engine(name="ray").count_workers(-1)


def test_the_engine_chooses_the_executor():
    assert isinstance(open_executor(1), InProcess)
    assert isinstance(open_executor(1, engine=Engine(name="ray")), RayTasks)
