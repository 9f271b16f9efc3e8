"""The text of templates that only mark or format text; all other templates have none.

"lang|grc|ἄχος"         ->  "ἄχος"
"convert|5|km|mi"       ->  "5 km"
"Infobox person|name=A" ->  None

The names are those of the English Wikipedia, which many others share. What they mean is described
on their pages (Template:Convert and so on).
"""

from collections.abc import Callable, Sequence

_UNITS = {
    "C": "°C",
    "F": "°F",
    "K": "K",
    "km2": "km²",
    "m2": "m²",
    "ft2": "sq ft",
    "mi2": "sq mi",
    "sqkm": "km²",
    "sqm": "m²",
    "sqmi": "sq mi",
    "sqft": "sq ft",
    "m3": "m³",
    "km3": "km³",
    "impgal": "imp gal",
    "USgal": "US gal",
    "kph": "km/h",
}
_RANGES = {"-": "–", "–": "–", "to": " to ", "and": " and ", "x": " × ", "by": " by ", "or": " or "}
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def render_template(content: str) -> str | None:
    """Return the text of a template.

    Args:
      content: what stands between its braces; links and templates within it are already text.

    Returns:
      Its text; None if it has none.
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
    return render(_positional(rest)) or None


def _positional(arguments: str) -> list[str]:
    """Return the arguments without a name, and those named 1, 2, ... or text."""
    values: dict[int, str] = {}
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
    return [values.get(i, "") for i in range(1, max(values, default=0) + 1)]


def _first(values: Sequence[str]) -> str:
    return values[0] if values else ""


def _second(values: Sequence[str]) -> str:
    return values[1] if len(values) > 1 else ""


def _last(values: Sequence[str]) -> str:
    return values[-1] if values else ""


def _convert(values: Sequence[str]) -> str:
    """Return a quantity in its first unit: `5|to|10|km|mi` is "5 to 10 km"."""
    if len(values) < 2:
        return _first(values)
    quantity, rest = values[0], list(values[1:])
    while len(rest) > 1 and rest[0] in _RANGES:
        quantity += _RANGES[rest[0]] + rest[1]
        rest = rest[2:]
    return f"{quantity} {_UNITS.get(rest[0], rest[0])}" if rest else quantity


def _fraction(values: Sequence[str]) -> str:
    if len(values) == 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return f"{values[0]}/{values[1]}" if len(values) == 2 else f"1/{_first(values)}"


def _as_of(values: Sequence[str]) -> str:
    year, month = _first(values), _second(values)
    if month.isdecimal() and 1 <= int(month) <= 12:
        month = _MONTHS[int(month) - 1]
    return f"As of {month} {year}" if month else f"As of {year}"


def _circa(values: Sequence[str]) -> str:
    return f"c. {' – '.join(filter(None, values))}"


def _nihongo(values: Sequence[str]) -> str:
    english, *japanese = [*values, "", ""][:2]
    in_parentheses = ", ".join(filter(None, japanese))
    return f"{english} ({in_parentheses})" if in_parentheses else english


def _prefixed(prefix: str) -> Callable[[Sequence[str]], str]:
    return lambda values: f"{prefix}{_first(values)}"


_SIGNS = {
    "mdash": "—", "emdash": "—", "—": "—", "ndash": "–", "endash": "–", "–": "–",
    "spaced ndash": " – ", "snd": " – ", "spnd": " – ", "spaced en dash": " – ", "dash": " – ",
    "nbsp": " ", "space": " ",
    "'": "'", "'s": "'s", "`": "`", "=": "=", "pi": "π", "·": " · ", "•": " • ", "dot": " · ",
    "bull": " • ", "times": "×", "minus": "−", "break": "\n", "clear": "\n", "-": "\n",
}  # fmt: skip

_TEMPLATES: dict[str, Callable[[Sequence[str]], str]] = {
    **dict.fromkeys(
        "nowrap nobr small smaller big larger nobold bold em strong italic smallcaps sc smcaps sic "
        "abbr abbrlink vanchor anchored ill link-interwiki blockquote quote cquote quotation "
        "bquote poemquote center visible_anchor mvar math_var val num gaps unicode linktext "
        "not_a_typo as_written angbr lrm rtl lang_abbr mono sub sup smallsup tooltip "
        "hover_title honorific".replace("_", " ").split(),
        _first,
    ),
    **dict.fromkeys(("visible anchor", "not a typo", "as written", "hover title"), _first),
    "lang": _second,
    "langx": _second,
    "langue": _second,
    "transl": _last,
    "transliteration": _last,
    "convert": _convert,
    "cvt": _convert,
    "frac": _fraction,
    "sfrac": _fraction,
    "fraction": _fraction,
    "as of": _as_of,
    "circa": _circa,
    "c.": _circa,
    "ca.": _circa,
    "nihongo": _nihongo,
    "nihongo2": _first,
    "us$": _prefixed("US$"),
    "usd": _prefixed("US$"),
    "gbp": _prefixed("£"),
    "£": _prefixed("£"),
    "eur": _prefixed("€"),
    "€": _prefixed("€"),
    "inr": _prefixed("₹"),
    "jpy": _prefixed("¥"),
}
