"""Extract the text of web pages: the main content as a reader sees it."""

import dataclasses
import re
from typing import Annotated, NamedTuple

from bert_data.curation.document import Document, is_html
from bert_data.curation.parameters import Within
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Verdict, measure
from bert_data.packages import load_package

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
_UNCOUNTED_NAMES, _DRAWN_NAMES = frozenset(_UNCOUNTED.split()), frozenset(_DRAWN.split())


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
    in_drawing = False
    groups = [tags.groupindex[name] for name in ("name", "end", "attributes")]
    for match in tags.finditer(page):
        name, end, attributes = match.group(*groups)
        # The shortest attribute has two characters, including the space before it.
        if attributes and len(attributes) > longest:
            most_attributes = max(most_attributes, len(_ATTRIBUTES.findall(attributes)))
            longest = max(longest, 2 * most_attributes)
        if name is None or name in _UNCOUNTED_NAMES or (name := name.lower()) in _UNCOUNTED_NAMES:
            continue
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


PLAIN_TYPE = "text/plain"
_TYPE = "content_type"
_FEW_ATTRIBUTES = 256
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n){2,}")


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Extract(DocumentStep):
    """Extracts the text of HTML pages; leaves other documents as they are.

    A document is HTML if its field `content_type` says so or, without that field, if its first
    1,000 characters contain a doctype or one of the tags `<html>`, `<head>` and `<body>`. The text
    is extracted by resiliparse (Bevendorff et al. 2018, "Elastic ChatNoir"), which preserves lines,
    paragraphs and lists; `content_type` then becomes "text/plain". Pages that would keep a parser
    busy for hours are rejected for their depth or their number of attributes. Browsers limit the
    depth, too (Chromium to 512).

    Attributes:
      main_content: leave out navigation, headers, footers and the like.
      comments: treat readers' comments as content.
      alt_texts: include the alternative texts of images.
      links: include the targets of links.
      list_bullets: put a bullet or number before list items.
      max_depth: largest number of nested elements.
      max_attributes: largest number of attributes of a tag; fewer than 256 are not counted.
    """

    name = "extract"
    own_fields = (_TYPE,)
    accepts_markup = True
    is_meant_to_shorten = True
    main_content: bool = True
    comments: bool = False
    alt_texts: bool = False
    links: bool = False
    list_bullets: bool = True
    max_depth: Annotated[int, Within(1)] = 256
    max_attributes: Annotated[int, Within(_FEW_ATTRIBUTES)] = 1_000

    step_examples = (
        (
            "<html><head><title>T</title></head><body><nav><a href=/>Home</a></nav>"
            "<article><h1>Bread</h1><p>Flour &amp; water.<p>And time.</article></body></html>",
            "Bread\n\nFlour & water.\n\nAnd time.",
        ),
        ("No page: a < b.", "No page: a < b."),
        ("<html><body>" + "<div>" * 300 + "deep", None),
    )

    def judge(self, document: Document) -> Verdict:
        """Extract the text of a page, or reject it if no parser should read it."""
        if not is_html(document):
            return Verdict(document)
        tags = measure_tags(document.text, few_attributes=_FEW_ATTRIBUTES)
        measured = (
            measure("max_depth", tags.depth, self.max_depth),
            measure("max_attributes", tags.num_attributes, self.max_attributes),
        )
        if any(each.failed for each in measured):
            return Verdict(document, measured)
        text = self.extract(document.text)
        plain = document.with_text(text).with_fields(**{_TYPE: PLAIN_TYPE})
        return Verdict(plain, measured, {"pages": 1})

    def extract(self, page: str) -> str:
        """Return the text of a page."""
        html2text = load_package("resiliparse.extract.html2text", "the step extract")
        try:
            page.encode()
        except UnicodeEncodeError:  # lone surrogates
            page = page.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        text = html2text.extract_plain_text(
            page,
            preserve_formatting=True,
            main_content=self.main_content,
            list_bullets=self.list_bullets,
            alt_texts=self.alt_texts,
            links=self.links,
            comments=self.comments,
        )
        return _BLANK_LINES.sub("\n\n", text).strip()

    def describe_use(self, counted: dict[str, int]) -> str | None:
        """Say so if no document was a page."""
        return None if counted.get("pages") else "no document was HTML; none was changed"
