"""Options of a function, by the names of its command's flags, as Python programs have them.

{"max_seq_length": np.int64(128), "work_dir": Path("tmp")}
->  InstanceConfig(max_seq_length=128, ...), DatasetConfig(work_dir="tmp", ...)
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from bert_data.settings import plain, settings_of, with_present_names
from bert_data.work import ENGINE_SETTINGS, THIS_MACHINE, Engine, make_engine

Config = TypeVar("Config")


class Options:
    """The keyword arguments of a call that its signature does not name."""

    def __init__(
        self,
        function: str,
        options: Mapping[str, Any],
        *configs: type[Any],
        others: Iterable[str] = (),
    ) -> None:
        """Hold options.

        Args:
          function: its name, for errors.
          configs: whose fields are options.
          others: names of more options.

        Raises:
          TypeError: there is no option of a name.
        """
        self._function = function
        given = with_present_names(options, configs)
        self._left = {name: plain(value) for name, value in given.items()}
        self._known = {name for config in configs for name in settings_of(config)} | {*others}
        self._refuse(set(self._left) - self._known)

    def config(self, make: type[Config], **fixed: Any) -> Config:
        """Make a configuration of `fixed` and of the options that it has fields for."""
        names = settings_of(make).keys() - fixed.keys()
        return make(**fixed, **{name: self._left.pop(name) for name in names & set(self._left)})

    def take(self, name: str, default: Any) -> Any:
        """Return an option that is no field of a configuration."""
        return self._left.pop(name, default)

    def look(self, name: str, default: Any) -> Any:
        """Return an option that a configuration takes, too."""
        return self._left.get(name, default)

    def engine(self) -> Engine:
        """Return what runs tasks: the option `engine`, an engine or its name, and its settings."""
        engine = self.take("engine", THIS_MACHINE.name)
        if isinstance(engine, Engine):
            return engine
        settings = {name: self._left.pop(name) for name in ENGINE_SETTINGS if name in self._left}
        return make_engine(engine, **settings)

    def last_config(self, make: type[Config], **fixed: Any) -> Config:
        """Make the last configuration, and `end`."""
        config = self.config(make, **fixed)
        self.end()
        return config

    def end(self) -> None:
        """Refuse options that nothing has taken: the function's signature has them in another way.

        Raises:
          TypeError: there is one.
        """
        self._refuse(self._left)

    def _refuse(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            close = difflib.get_close_matches(name, self._known - {name}, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise TypeError(f"{self._function}() has no option {name!r}{hint}")
