"""Measure how deep the tags of a page nest: parsers of HTML take quadratic time for some pages.

"<div><b c=1 d=2>"  ->  TagMeasures(depth=2, num_attributes=2)
"""

import re
from typing import NamedTuple

# An unclosed quote, comment or script extends to the end of the page, so each character is read
# once; possessive, so nothing is tried twice. The states are those of the HTML standard's
# tokenizer (13.2.5).
_SPACE = r"[ \t\n\f\r]"
_ATTRIBUTE = (
    r"(?:=[^ \t\n\f\r/>=]*+|[^ \t\n\f\r/>=]++)"
    rf"(?:{_SPACE}*+={_SPACE}*+"
    r"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)?+)?+"
)
_TAG_ALONE = (
    r"(?P<end>/?)(?P<name>[a-z][^ \t\n\f\r/>]*+)"
    rf"(?P<attributes>(?:[ \t\n\f\r/]++|{_ATTRIBUTE})*+)(?:>|\Z)"
)
_COMMENT = r"!--(?:-?+>|(?:[^-]++|-(?!-!?+>))*+(?:--!?+>|\Z))"
_RAW = (
    r"(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[ \t\n\f\r/>])[^>]*+>?+"
    r"(?:[^<]++|<(?!/(?P=raw)[ \t\n\f\r/>]))*+"
)
_TAGS = re.compile(f"<(?:{_COMMENT}|{_RAW}|{_TAG_ALONE})", re.IGNORECASE)
# Within SVG and MathML, scripts and styles are ordinary elements.
_TAGS_OF_DRAWINGS = re.compile(f"<(?:{_COMMENT}|{_TAG_ALONE})", re.IGNORECASE)
_DRAWING = re.compile(r"<(?:svg|math)", re.IGNORECASE)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
# Elements without content, and those that the next one of their kind closes.
_UNCOUNTED = (
    "area base br col embed hr img input link meta param source track wbr "
    "a body button colgroup dd dt form h1 h2 h3 h4 h5 h6 head html li nobr optgroup option p rp rt "
    "tbody td tfoot th thead tr"
)
# Self-closing elements of SVG and MathML; only there does a tag that ends in "/>" close itself. Any
# other element ends the drawing: some do, and this never counts too low.
_DRAWN = (
    "svg math g path rect circle ellipse line polyline polygon use stop lineargradient defs symbol "
    "radialgradient clippath mask image text tspan textpath filter pattern marker animate set view "
    "animatetransform animatemotion fegaussianblur feoffset feblend feflood fecomposite "
    "fecolormatrix femerge femergenode mrow mi mo mn ms mspace mfrac msup msub mtd mtr mtable "
    "mover munder mstyle mpadded mphantom none mprescripts"
)
# Without a ruby around them, those of one kind do not close each other. Within these elements,
# no ruby is around (the standard's "scope", 13.2.4.2).
_OF_RUBY = ("rt", "rp")
_SCOPES = frozenset(["table", "object", "marquee", "applet", "template", "foreignobject"])
_UNCOUNTED_NAMES, _DRAWN_NAMES = frozenset(_UNCOUNTED.split()), frozenset(_DRAWN.split())


# A document type with declarations, which parsers of HTML take to end at the first ">" of these.
_OWN_DTD = re.compile(r"<!DOCTYPE[^<>\[]{0,500}+\[[^\]]*+\]\s*+>", re.IGNORECASE)
_DTD_CHARACTERS = 2_000


def drop_dtd(page: str) -> str:
    """Return a page without the declarations (`<!DOCTYPE html [<!ENTITY ...>]>`) it begins with."""
    match = _OWN_DTD.search(page, 0, _DTD_CHARACTERS)
    return page if match is None else page[: match.start()] + page[match.end() :]


class TagMeasures(NamedTuple):
    """Measures of a page.

    Attributes:
      depth: largest number of nested elements.
      num_attributes: largest number of attributes of a tag.
    """

    depth: int
    num_attributes: int


def measure_tags(page: str, *, few_attributes: int = 0) -> TagMeasures:
    """Measure the tags of a page, in time linear in its length.

    Args:
      few_attributes: the attributes of tags too short for more than this number are not counted.
    """
    measures = _measure(page, _TAGS, few_attributes)
    if _DRAWING.search(page) is None:
        return measures
    of_drawings = _measure(page, _TAGS_OF_DRAWINGS, few_attributes)
    return TagMeasures(*map(max, measures, of_drawings))


def _measure(page: str, tags: re.Pattern[str], few_attributes: int) -> TagMeasures:
    is_open: dict[str, int] = {}
    depth = deepest = most_attributes = 0
    longest = 2 * few_attributes
    in_drawing = in_ruby = False
    groups = [tags.groupindex[name] for name in ("name", "end", "attributes")]
    for match in tags.finditer(page):
        name, end, attributes = match.group(*groups)
        # The shortest attribute has two characters, including the space before it.
        if attributes and len(attributes) > longest:
            most_attributes = max(most_attributes, len(_ATTRIBUTES.findall(attributes)))
            longest = max(longest, 2 * most_attributes)
        if name is None:
            continue
        if name in _UNCOUNTED_NAMES or (name := name.lower()) in _UNCOUNTED_NAMES:
            if in_ruby or name[0] not in "rR" or name.lower() not in _OF_RUBY:
                continue
        elif name == "ruby" or name in _SCOPES:
            in_ruby = name == "ruby" and not end
        if end:
            if is_open.get(name):
                is_open[name] -= 1
                depth -= 1
            in_drawing = in_drawing and name in _DRAWN_NAMES and name not in ("svg", "math")
            continue
        if name in ("svg", "math"):
            in_drawing = True
        elif in_drawing:
            in_drawing = name in _DRAWN_NAMES
        if not (in_drawing and attributes.endswith("/")):
            is_open[name] = is_open.get(name, 0) + 1
            depth += 1
            if depth > deepest:
                deepest = depth
    return TagMeasures(deepest, most_attributes)
