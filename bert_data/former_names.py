"""Names that settings had before, which are still understood."""

import functools
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from bert_data.settings import settings_of

_Config = TypeVar("_Config")


def accept_former_names(config: type[_Config]) -> type[_Config]:
    """Let a dataclass take the former names of its settings, with a warning."""
    make = config.__init__

    @functools.wraps(make)
    def init(self: Any, **values: Any) -> None:
        make(self, **with_present_names(values, [config]))

    config.__init__ = init  # type: ignore[method-assign]
    return config


def with_present_names(values: Mapping[str, Any], configs: Iterable[type]) -> dict[str, Any]:
    """Return keyword arguments by the names of settings, for those by their former names, too."""
    former = {
        setting.former: name
        for config in configs
        for name, setting in settings_of(config).items()
        if setting.former
    }
    for name in former.keys() & values.keys():
        warnings.warn(f"{name} is called {former[name]} now", DeprecationWarning, stacklevel=4)
    return {former.get(name, name): value for name, value in values.items()}
