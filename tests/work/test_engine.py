"""The choice of what runs tasks."""

import pytest

from bert_data.work import ENGINE_SETTINGS, ENGINES, make_engine, open_executor
from bert_data.work.engine import Ray
from bert_data.work.executor import InProcess
from bert_data.work.ray_tasks import RayTasks


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("spark", {}, "^engine is 'spark'; it must be one of local, ray"),
        ("local", {"ray_address": "auto"}, "^ray_address needs `engine=ray`$"),
    ],
)
def test_settings_that_cannot_be_used(name, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_engine(name, **settings)


def test_an_engine_takes_its_own_settings_among_those_of_all():
    defaults = {
        name: engine.__dataclass_fields__[name].default for name, engine in ENGINE_SETTINGS.items()
    }
    assert {make_engine(name, **defaults) for name in ENGINES} == {e() for e in ENGINES.values()}
    assert make_engine("ray", **{**defaults, "ray_address": "auto"}) == Ray(ray_address="auto")


def test_all_workers_of_a_cluster_are_counted_as_it_grows():
    assert make_engine("local").count_workers(0) >= 1
    assert Ray().count_workers(0) == 0
    assert Ray().count_workers(7) == 7
    with pytest.raises(ValueError, match=r"^num_workers is -1; 0 to 1,024 is allowed$"):
        Ray().count_workers(-1)


def test_the_engine_chooses_the_executor():
    assert isinstance(open_executor(1), InProcess)
    assert isinstance(open_executor(1, engine=Ray()), RayTasks)
