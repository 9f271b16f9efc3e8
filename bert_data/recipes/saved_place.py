"""Places of a run as checkpoints keep them: four integers, and what lies behind them.

{"batch": 120000, "window": 1875, "in_window": 0, "stage_begin": 0, "digest": "9f86...",
 "version": 1}

The digest is of the stages behind a place, of their stores and of their vocabulary; the version is
that of the order, see `recipe.VERSION`.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from bert_data.recipes.recipe import VERSION
from bert_data.recipes.recipe_run import Place, Run

_DIGEST, _VERSION = "digest", "version"


def save_place(run: Run, place: Place) -> dict[str, Any]:
    """Return what a checkpoint keeps of a place."""
    digest = digest_of_stages(run, _stages_begun(run, place))
    return {**place._asdict(), _DIGEST: digest, _VERSION: VERSION}


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
    version = saved.get(_VERSION, VERSION)
    if version != VERSION:
        raise ValueError(
            f"the checkpoint has version {version} of the order of recipes; this release has"
            f" {VERSION}"
        )
    count = _stages_begun(run, place)
    if place.window > run.num_windows or digest != digest_of_stages(run, count):
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


def digest_of_stages(run: Run, count: int) -> str:
    """Return a digest of all that the first stages' batches depend on."""
    opened = {s.opened.name: s.opened for stage in run.stages[:count] for s in stage.sources}
    stores = [(name, opened[name].contents) for name in sorted(opened)]
    told = f"{run.recipe.digest(count)} {run.vocabulary.sha256} {stores}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]
