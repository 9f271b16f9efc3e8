"""JSON from files: every error names the file, and the place in it.

    {"vocabulary": {"size": "7"}}   JsonObject.read("a.json").object("vocabulary").count("size")
      -> CorruptDataError: a.json: byte offset 0: vocabulary.size is '7'; it must be an integer ...

Damaged or foreign JSON may nest 200,000 levels deep, have numbers of 6,000 digits or values of
other types.
"""

import json
import os
import reprlib
from typing import Any, Self, TypeVar

from bert_data.errors import CorruptDataError
from bert_data.storage.paths import Path
from bert_data.storage.reading import read_bytes

T = TypeVar("T")

_KINDS = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
_COUNT_LIMIT = 1 << 63
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = 60


def parse_json(content: bytes | str, path: Path) -> Any:
    """Parse JSON, UTF-8 or decoded; it is damaged if an object has a key twice."""
    try:
        text = content if isinstance(content, str) else content.decode()
        return json.loads(text, object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        reason = f"not JSON, as it is not UTF-8 ({error.reason})"
        raise CorruptDataError(path, error.start, reason) from None
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode(errors="surrogatepass"))
        raise CorruptDataError(path, offset, f"not JSON ({error.msg})") from None
    except RecursionError:
        raise CorruptDataError(path, 0, "JSON that is nested too deep to be read") from None
    except ValueError as error:  # a number of thousands of digits, or a repeated key
        raise CorruptDataError(path, 0, f"JSON that cannot be read ({error})") from None


def read_json(path: Path) -> Any:
    """Parse a JSON file; raise CorruptDataError as `parse_json` does."""
    return parse_json(read_bytes(path), path)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {_SHOWN.repr(key)} appears twice in an object")
    return values


def _is_encodable(text: str) -> bool:
    """Return whether a string has no halves of surrogate pairs, which JSON can spell."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class JsonObject:
    """An object of a JSON file; its values are checked when they are taken."""

    def __init__(self, values: Any, path: Path, place: str = "") -> None:
        """Check that a value is an object; its place is "files[0]", or "": the file."""
        self.path, self._place = os.fspath(path), place
        if not isinstance(values, dict):
            raise self._error(place or "its content", values, _KINDS[dict])
        self.values: dict[str, Any] = values

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file that holds one object."""
        return cls(read_json(path), path)

    def take(self, name: str, kind: type[T]) -> T:
        """Return a value that is a str, int, float (which includes integers), bool, list or dict.

        Raises:
          CorruptDataError: it is missing, or of another kind.
        """
        value = self.values.get(name)
        is_bool = isinstance(value, bool)
        kinds = (int, float) if kind is float else kind
        if not isinstance(value, kinds) or is_bool != (kind is bool):
            raise self._wrong(name, _KINDS[kind])
        if isinstance(value, str) and not _is_encodable(value):
            raise self._error(self._name(name), value, "a string that UTF-8 can encode")
        return value  # type: ignore[return-value]

    def take_or_null(self, name: str, kind: type[T]) -> T | None:
        """Return a value of a kind, see `take`, or None for null."""
        is_null = name in self.values and self.values[name] is None
        return None if is_null else self.take(name, kind)

    def count(self, name: str) -> int:
        """Return an integer in [0, 2**63)."""
        value = self.values.get(name)
        if type(value) is not int or not 0 <= value < _COUNT_LIMIT:
            raise self._wrong(name, f"{_KINDS[int]} from 0 to 2**63 - 1")
        return value

    def object(self, name: str) -> "JsonObject":
        """Return an object in this one."""
        return JsonObject(self.take(name, dict), self.path, self._name(name))

    def objects(self, name: str) -> "list[JsonObject]":
        """Return the objects of a list."""
        return [
            JsonObject(value, self.path, f"{self._name(name)}[{number}]")
            for number, value in enumerate(self.take(name, list))
        ]

    def counts(self) -> dict[str, int]:
        """Return all values, which are integers in [0, 2**63)."""
        return {name: self.count(name) for name in self.values}

    def _name(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def _wrong(self, name: str, allowed: str) -> CorruptDataError:
        if name not in self.values:
            return CorruptDataError(
                self.path, 0, f"{self._name(name)} is missing; it must be {allowed}"
            )
        return self._error(self._name(name), self.values[name], allowed)

    def _error(self, name: str, value: Any, allowed: str) -> CorruptDataError:
        return CorruptDataError(
            self.path, 0, f"{name} is {_SHOWN.repr(value)}; it must be {allowed}"
        )
