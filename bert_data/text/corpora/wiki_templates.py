"""What the templates of a wiki show, by a table of their names; all other templates have no text.

"lang|grc|ἄχος"         ->  "ἄχος"
"convert|5|km|mi"       ->  "5 km"
"Infobox person|name=A" ->  None

`wiki_templates.txt` is the table, and says how it is written. Its names are those of the English
Wikipedia, which many others share, and of some other languages. What they mean is described on
their pages (Template:Convert and so on).
"""

import functools
import pkgutil
import re
from collections.abc import Callable, Mapping

_PART = re.compile(r"\[([^\[\]]*)\]|(\{[^{}]*\})")
_PLACE = re.compile(r"\{([^{}]*)\}")
_NAME_CHARACTERS = 60  # of a name that is counted

_UNITS = {
    "C": "°C", "F": "°F", "K": "K", "km2": "km²", "m2": "m²", "ft2": "sq ft", "mi2": "sq mi",
    "sqkm": "km²", "sqm": "m²", "sqmi": "sq mi", "sqft": "sq ft", "m3": "m³", "km3": "km³",
    "impgal": "imp gal", "USgal": "US gal", "kph": "km/h",
}  # fmt: skip
_RANGES = {
    "-": "–", "–": "–", "to": " to ", "and": " and ", "x": " × ", "by": " by ", "or": " or ",
    "±": " ± ", "+/-": " ± ", "to about": " to about ",
}  # fmt: skip
_WITH_PARTS = ("mi", "yd", "ft", "st", "lb", "h", "min")  # feet have inches, and so on
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class Templates:
    """A table of templates."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        """Take what templates show, by their names in lower case."""
        self._patterns = patterns

    def render(self, content: str) -> str | None:
        """Return the text of a template; None if it has none.

        Args:
          content: what is between its braces; links and templates within it are already text.
        """
        name, has_arguments, rest = content.partition("|")
        if not has_arguments and ":" in name:
            function, _, value = name.partition(":")
            return value.strip() if function.strip().lower() == "formatnum" else None
        name = _plain_name(name)
        pattern = self._patterns.get(name, "{1}" if name.startswith("lang-") else "")
        return _fill(pattern, _Arguments(rest)) or None

    def with_more(self, text: str, path: str) -> "Templates":
        """Return a table that also has what a text says, which is written likewise."""
        return Templates({**self._patterns, **_patterns_of(text, path)})

    def unknown_name(self, content: str) -> str:
        """Return the name of a template that the table does not have; "" for functions, too."""
        name = _plain_name(content.partition("|")[0])
        is_template = name and len(name) <= _NAME_CHARACTERS and name[0] != "#" and ":" not in name
        return name if is_template and name not in self._patterns else ""


def _patterns_of(text: str, path: str) -> dict[str, str]:
    """Return what templates show by a table's text; `path` is for messages."""
    patterns: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        names, arrow, pattern = line.partition(" ->")
        if not arrow:
            raise ValueError(f"{path}:{number}: it has no ' ->' between names and their text")
        patterns |= {_plain_name(name): pattern.strip() for name in names.split(",")}
    return patterns


@functools.cache
def own_templates() -> Templates:
    """Return the table that comes with the program."""
    return Templates({}).with_more((pkgutil.get_data(__name__, _TABLE) or b"").decode(), _TABLE)


def _plain_name(name: str) -> str:
    return name.strip().replace("_", " ").lower()


def _fill(pattern: str, arguments: "_Arguments") -> str:
    def fill(part: re.Match[str]) -> str:
        optional = part[1]
        if optional is None:
            return _value_of(part[2][1:-1], arguments)
        values = [_value_of(place, arguments) for place in _PLACE.findall(optional)]
        if not all(values):
            return ""
        return _PLACE.sub(lambda place: _value_of(place[1], arguments), optional)

    return _PART.sub(fill, pattern)


def _value_of(place: str, arguments: "_Arguments") -> str:
    """Return what stands for a place: "1", "-1", "text", "2|1", "month 2" or a function."""
    if place in _FUNCTIONS:
        return _FUNCTIONS[place](arguments)
    for name in place.split("|"):
        is_month = name.startswith("month ")
        key = name.removeprefix("month ")
        if key.lstrip("-").isdecimal():
            value = _value_at(int(key) - (key[0] != "-"))(arguments)
        else:
            value = arguments.named.get(key, "")
        if value:
            return _month(value) if is_month else value
    return ""


class _Arguments(list[str]):
    """The arguments of a template without a name, and those named 1, 2, ... or text; the others."""

    def __init__(self, arguments: str) -> None:
        values: dict[int, str] = {}
        self.named: dict[str, str] = {}
        place = 1
        for argument in arguments.split("|"):
            key, has_name, value = argument.partition("=")
            key = key.strip().lower()
            if not has_name or "<" in key or " " in key:
                values[place] = argument.strip()
                place += 1
            elif key.isdecimal() and key.isascii() and len(key) < 3:
                values[int(key)] = value.strip()
            elif key in ("text", "quote"):
                values[1] = value.strip()
            else:
                self.named[key] = value.strip()
        super().__init__(values.get(i, "") for i in range(1, max(values, default=0) + 1))


def _value_at(place: int) -> Callable[[_Arguments], str]:
    return lambda values: values[place] if len(values) > place and values else ""


_first = _value_at(0)


def _month(value: str) -> str:
    is_number = value.isdecimal() and 1 <= int(value) <= 12
    return _MONTHS[int(value) - 1] if is_number else value


def _convert(values: _Arguments) -> str:
    """Return a quantity in its first units: `5|to|10|km|mi` is "5 to 10 km"."""
    quantity, rest = _first(values), values[1:]
    while len(rest) > 1 and rest[0] in _RANGES:
        quantity += _RANGES[rest[0]] + rest[1]
        rest = rest[2:]
    while len(rest) > 2 and rest[0] in _WITH_PARTS and _is_number(rest[1]):  # 5|ft|10|in
        quantity += f" {rest[0]} {rest[1]}"
        rest = rest[2:]
    return f"{quantity} {_UNITS.get(rest[0], rest[0])}" if rest else quantity


def _is_number(value: str) -> bool:
    return value.replace(".", "", 1).isdecimal()


def _value(values: _Arguments) -> str:
    """Return a number with its exponent and unit: `5.2|e=-3|u=m` is "5.2×10^-3 m"."""
    exponent, unit = values.named.get("e", ""), values.named.get("u", values.named.get("ul", ""))
    number = f"{_first(values)}×10^{exponent}" if exponent else _first(values)
    return f"{number} {unit}" if unit else number


def _fraction(values: _Arguments) -> str:
    if len(values) == 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return f"{values[0]}/{values[1]}" if len(values) == 2 else f"1/{_first(values)}"


def _as_of(values: _Arguments) -> str:
    year, month = _first(values), _month(_value_at(1)(values))
    words = "as of" if values.named.get("lc") else "As of"
    return " ".join(filter(None, (words, month, year)))


def _circa(values: _Arguments) -> str:
    return f"c. {' – '.join(filter(None, values))}"


def _nihongo(values: _Arguments) -> str:
    english, *japanese = [*values, "", "", ""][:3]
    in_parentheses = ", ".join(filter(None, japanese))
    return f"{english} ({in_parentheses})" if in_parentheses else english


_TABLE = "wiki_templates.txt"
_FUNCTIONS: dict[str, Callable[[_Arguments], str]] = {
    "convert": _convert,
    "value": _value,
    "fraction": _fraction,
    "as of": _as_of,
    "circa": _circa,
    "nihongo": _nihongo,
    "gaps": "".join,
    "space": lambda _: " ",
    "line": lambda _: "\n",
}
