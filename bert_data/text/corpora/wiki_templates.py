"""The text of templates that only mark or format text; all other templates have none.

"lang|grc|ἄχος"         ->  "ἄχος"
"convert|5|km|mi"       ->  "5 km"
"Infobox person|name=A" ->  None

The names are those of the English Wikipedia, which many others share. What they mean is described
on their pages (Template:Convert and so on).
"""

from collections.abc import Callable

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


def render_template(content: str) -> str | None:
    """Return the text of a template; None if it has none.

    Args:
      content: what is between its braces; links and templates within it are already text.
    """
    name, has_arguments, rest = content.partition("|")
    name = name.strip()
    if not has_arguments and ":" in name:
        function, _, value = name.partition(":")
        return value.strip() if function.strip().lower() == "formatnum" else None
    name = name.replace("_", " ").lower()
    if name in _SIGNS:
        return _SIGNS[name]
    render = _TEMPLATES.get(name)
    if render is None:
        if not name.startswith("lang-"):
            return None
        render = _first
    return render(_Arguments(rest)) or None


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


_first, _second, _last = map(_value_at, (0, 1, -1))


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
    year, month = _first(values), _second(values)
    if month.isdecimal() and 1 <= int(month) <= 12:
        month = _MONTHS[int(month) - 1]
    words = "as of" if values.named.get("lc") else "As of"
    return " ".join(filter(None, (words, month, year)))


def _circa(values: _Arguments) -> str:
    return f"c. {' – '.join(filter(None, values))}"


def _nihongo(values: _Arguments) -> str:
    english, *japanese = [*values, "", "", ""][:3]
    in_parentheses = ", ".join(filter(None, japanese))
    return f"{english} ({in_parentheses})" if in_parentheses else english


def _prefixed(prefix: str) -> Callable[[_Arguments], str]:
    return lambda values: f"{prefix}{_first(values)}"


_SIGNS = {
    "mdash": "—", "emdash": "—", "—": "—", "ndash": "–", "endash": "–", "–": "–",
    "spaced ndash": " – ", "snd": " – ", "spnd": " – ", "spaced en dash": " – ", "dash": " – ",
    "nbsp": " ", "space": " ",
    "'": "'", "'s": "'s", "`": "`", "=": "=", "pi": "π", "·": " · ", "•": " • ", "dot": " · ",
    "bull": " • ", "times": "×", "minus": "−", "break": "\n", "clear": "\n", "-": "\n",
}  # fmt: skip

_MARKING = (
    "nowrap|nobr|small|smaller|big|larger|nobold|bold|em|strong|italic|smallcaps|sc|smcaps|sic|abbr"
    "|abbrlink|vanchor|anchored|ill|blockquote|quote|cquote|quotation|bquote|poemquote|center|mvar"
    "|num|unicode|linktext|angbr|lrm|rtl|lang abbr|mono|sub|sup|smallsup|tooltip|honorific"
    "|visible anchor|not a typo|as written|hover title"
)
_CURRENCIES = {
    "us$": "US$", "usd": "US$", "gbp": "£", "£": "£", "eur": "€", "€": "€", "inr": "₹", "jpy": "¥",
}  # fmt: skip
_TEMPLATES: dict[str, Callable[[_Arguments], str]] = {
    **dict.fromkeys(_MARKING.split("|"), _first),
    **{name: _prefixed(sign) for name, sign in _CURRENCIES.items()},
    "val": _value, "gaps": "".join,
    "lang": _second, "langx": _second, "langue": _second,
    "transl": _last, "transliteration": _last,
    "convert": _convert, "cvt": _convert,
    "frac": _fraction, "sfrac": _fraction, "fraction": _fraction,
    "as of": _as_of, "circa": _circa, "c.": _circa, "ca.": _circa,
    "nihongo": _nihongo, "nihongo2": _first,
}  # fmt: skip
