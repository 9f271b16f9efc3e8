"""JSON from files: every error names the file, and the place in it.

    {"vocabulary": {"size": "7"}}    read_json("a.json", Manifest)
      -> CorruptDataError: a.json: byte offset 0: vocabulary.size is '7'; it must be an integer

Damaged or foreign JSON may nest 200,000 levels deep, have numbers of 6,000 digits or values of
other types.
"""

import dataclasses
import json
import re
import reprlib
from typing import Annotated, Any, TypeVar

from bert_data.errors import CorruptDataError
from bert_data.settings import Within
from bert_data.storage.changing import write_bytes
from bert_data.storage.paths import Path
from bert_data.storage.reading_files import read_bytes

T = TypeVar("T")

Count = Annotated[int, Within(0, 2**63 - 1)]
"""A field of a dataclass with `check_settings` that arrays can hold."""

_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "|": "or",
}
_EXPECTED = re.compile("Expected `(.*)`, got `(.*)`")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_MISSING = re.compile("Object missing required field `(.*)`")


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


@dataclasses.dataclass(frozen=True)
class FormatHeader:
    """The first keys of a file of a format."""

    format: str
    format_version: int


def decode_json(content: bytes | str, path: Path, kind: type[T]) -> T:
    """Return JSON as a type: a dataclass, a `TypedDict`, `dict[str, int]` and the like.

    Other keys than those of a dataclass are left out.

    Raises:
      CorruptDataError: it is damaged, a key is missing, a value has another type, or the dataclass
        refuses it.
    """
    import msgspec  # not for each --help

    values = parse_json(content, path)  # says more of damage, and refuses keys that appear twice
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise CorruptDataError(path, 0, _sentence(str(error), values)) from None


def _sentence(message: str, values: Any) -> str:
    """Return a message of msgspec, such as "Expected `int`, got `str` - at `$.a[0]`", as ours."""
    message, _, place = message.partition(" - at `$")
    place = place.strip("`.")
    if expected := _EXPECTED.fullmatch(message):
        allowed, actual = (
            " ".join(_WORDS.get(each, each) for each in words.split())
            for words in expected.groups()
        )
        if "..." not in place:  # a key
            for name, number in _STEP.findall(place):
                values = values[name or int(number)]
            actual = reprlib.repr(values)
        return f"{place or 'its content'} is {actual}; it must be {allowed}"
    if missing := _MISSING.fullmatch(message):
        return f"{place}{'.' * bool(place)}{missing[1]} is missing"
    return f"{place}: {message}" if place else message


def json_text(values: Any) -> str:
    """Return values as the text of a file of JSON."""
    return json.dumps(values, indent=1) + "\n"


def read_object(path: Path) -> dict[str, Any]:
    """Parse a file that holds an object, which may have NaN as Python writes it."""
    values = parse_json(read_bytes(path), path)
    if not isinstance(values, dict):
        raise CorruptDataError(path, 0, f"its content is {reprlib.repr(values)}; not an object")
    return values


def read_json(path: Path, kind: type[T]) -> T:
    """Return the JSON of a file as a type; see `decode_json`."""
    return decode_json(read_bytes(path), path, kind)


def write_json(path: Path, values: Any) -> None:
    """Write values as a file of JSON; see `write_bytes`."""
    write_bytes(path, json_text(values).encode())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {reprlib.repr(key)} appears twice in an object")
    return values
