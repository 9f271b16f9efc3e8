"""Places of a run as checkpoints keep them: four integers, and a digest of what lies behind them.

{"batch": 120000, "window": 1875, "in_window": 0, "stage_begin": 0, "digest": "9f86..."}
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from bert_data.recipes.recipe_run import Place, Run

_DIGEST = "digest"


def save_place(run: Run, place: Place) -> dict[str, Any]:
    """Return what a checkpoint keeps of a place."""
    return {**place._asdict(), _DIGEST: _digest_behind(run, place)}


def load_place(run: Run, saved: Mapping[str, Any]) -> Place:
    """Return a place that was saved, or refuse it if the stages behind it were changed."""
    try:
        place = Place(*(int(saved[name]) for name in Place._fields))
        digest = saved[_DIGEST]
    except (KeyError, TypeError, ValueError):
        needed = ", ".join((*Place._fields, _DIGEST))
        raise ValueError(f"the place of a run needs {needed}; there is {saved!r}") from None
    if min(place) < 0:
        raise ValueError(f"the place of a run has numbers from 0 on; there is {saved!r}")
    if place.window > run.num_windows or digest != _digest_behind(run, place):
        count = _stages_begun(run, place)
        behind = "stage" if count == 1 else f"{count} stages"
        raise ValueError(
            f"the checkpoint was made with another recipe: its first {behind}, or a store that they"
            " read, differs; only later stages may change"
        )
    return place


def _stages_begun(run: Run, place: Place) -> int:
    """Return the number of stages of which batches lie before a place."""
    begun = (place.window, place.in_window)
    return sum((stage.first_window, 0) < begun for stage in run.stages)


def _digest_behind(run: Run, place: Place) -> str:
    count = _stages_begun(run, place)
    opened = {s.opened.name: s.opened for stage in run.stages[:count] for s in stage.sources}
    stores = [(name, opened[name].contents) for name in sorted(opened)]
    told = f"{run.recipe.digest(count)} {run.vocabulary.sha256} {stores}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]
