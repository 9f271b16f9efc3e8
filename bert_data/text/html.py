"""HTML: one page per file.

    a.html  b"<!doctype html><meta charset=gbk>..."  ->  TextDocument(row 1, "<!doctype html>...",
                                                             {"content_type": "text/html"})

The text of the document is the page with its tags; `visible_text` is what a reader sees of it.
Parsers take quadratic time for some pages, so `measure_tags` says how deep tags nest:
"<div><b c=1 d=2>"  ->  TagMeasures(depth=2, num_attributes=2).
"""

import codecs
import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bert_data.packages import load_package
from bert_data.text.compression import open_bytes, read_up_to
from bert_data.text.documents import DocumentBlock, RowError, Span, TextDocument
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind
from bert_data.text.text_config import STRICT, TextConfig

MAX_PAGE_BYTES = 1 << 28
CONTENT_TYPES = HTML, XHTML = ("text/html", "application/xhtml+xml")
_XHTML_NAME = re.compile(r"\.xhtml(?:\.\w+)?\Z", re.IGNORECASE)

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NUM_BYTES_DECLARING = 1024
_DECLARED = re.compile(
    rb"<meta[^<>]{1,300}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})"
    rb"|\A\s{0,9}<\?xml[^<>]{1,100}?encoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})",
    re.IGNORECASE,
)


def read_html(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield pages."""
    most = max_page_bytes(config)
    for span in spans:
        block = DocumentBlock(path=span.path, num_rows=1)
        with open_bytes(span.path) as (text, file):
            data = read_up_to(text, most + 1)
            block.num_file_bytes = file.tell() if file.seekable() else 0
        try:
            if len(data) > most:
                add_too_long(block, 1, len(data), config)
            else:
                if kind := binary_kind(data[:HEAD_BYTES]):
                    raise RowError(f"not HTML: it is {kind}")
                page, block.num_replaced = decode_page(data, None, config.encoding_errors)
                kind = XHTML if _XHTML_NAME.search(span.path) else HTML
                fields = {"content_type": kind} if config.keep_fields else None
                block.documents.append(TextDocument(1, page, fields))
        except RowError as error:
            block.skip(1, error, config)
        yield block


def max_page_bytes(config: TextConfig) -> int:
    """Return the size of the largest page that is read."""
    return min(MAX_PAGE_BYTES, config.max_row_bytes or MAX_PAGE_BYTES)


def add_too_long(block: DocumentBlock, row: int, num_bytes: int, config: TextConfig) -> None:
    """Note a page of more than `max_page_bytes`; RowError if no `max_row_bytes` is set."""
    if config.max_row_bytes is None:
        raise RowError(f"a page has more than {MAX_PAGE_BYTES:,} bytes")
    block.too_long.append((row, num_bytes))


def decode_page(data: bytes, declared: str | None, errors: str) -> tuple[str, int]:
    """Decode a page by its byte order mark, its declaration, UTF-8, or detection.

    The order is that of the HTML standard (13.2.3.2), but a page that declares UTF-8 and is valid
    UTF-8 is that; an encoding that does not fit the bytes is skipped. uchardet detects encodings.

    Args:
      declared: the encoding that the server named, if any.

    Returns:
      The text, and the number of places that were replaced or ignored.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            candidates = [encoding]
            data = data[len(mark) :]
            break
    else:
        if data.isascii() and b"\x1b" not in data:
            return data.decode("ascii"), 0
        in_page = _DECLARED.search(data[:_NUM_BYTES_DECLARING])
        named = (declared, (in_page[1] or in_page[2]).decode() if in_page else None)
        candidates = [each for each in map(_python_encoding, named) if each] + ["utf-8"]
        if candidates[1:] == ["utf-8", "utf-8"]:  # many servers name Latin-1 for all pages
            candidates.reverse()
    for encoding in candidates:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(encoding), 0
    detected = _detect(data)
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode(detected), 0
    if errors == STRICT:
        raise RowError(
            f"no text in any encoding (tried {', '.join(dict.fromkeys([*candidates, detected]))});"
            " `encoding_errors=replace` or ignore reads it anyway"
        )
    page = data.decode(candidates[0], errors="replace")
    num_replaced = page.count("\ufffd")
    return (page if errors == "replace" else page.replace("\ufffd", "")), num_replaced


def _python_encoding(label: str | None) -> str | None:
    """Return Python's name of the encoding that a label means on the web; None if it is unknown.

    By the Encoding standard, Latin-1 means windows-1252 and GB2312 means GB18030; a page whose
    declaration could be read cannot be UTF-16, and UTF-7 cannot be declared.
    """
    if not label:
        return None
    name = label.strip().lower()
    if name.startswith(("utf-16", "utf-7", "utf-32", "ucs-")):
        return None
    try:
        codec = codecs.lookup(_WEB_ENCODINGS.get(name, name))
    except (LookupError, ValueError):
        return None
    name = _WEB_ENCODINGS.get(codec.name, codec.name)
    is_text = getattr(codec, "_is_text_encoding", True)
    return name if is_text and name.replace("-", "_") not in _NO_PAGES else None


_WEB_ENCODINGS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "euc_kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "big5": "big5hkscs",
    "x-gbk": "gb18030",
    "iso-8859-8-i": "iso8859-8",
    "x-x-big5": "big5hkscs",
    "x-user-defined": "utf-8",
}
_NO_PAGES = ("idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "mbcs", "oem")


def _detect(data: bytes) -> str:
    encoding = load_package("resiliparse.parse.encoding", "a page that does not name its encoding")
    return _python_encoding(encoding.detect_encoding(data)) or "utf-8"


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

# resiliparse takes texts of three bytes of UTF-8 for symbols of icon fonts (it means those of the
# private use area alone) and lists near the root for menus, when it selects the main content. So
# short texts get a character more, one that no text has, and lists get more elements around them.
_ADDED = "\ufdd0"
_SHORT_TEXT = re.compile(
    r"((?:\A|>)\s*+(?!\s|[\ue000-\uf8ff¶]\s*+(?:<|\Z))(?:[^<>&\s]|&\#?\w{1,31}+;?+){1,2})"
    r"(?=\s*+(?:<|\Z))"
)
_LIST_DEPTH = 4
_MOST_CONTENTS = 20  # elements whose surroundings are unnamed
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n){2,}")
_BLANK_START = re.compile(r"\s*\n")


def drop_dtd(page: str) -> str:
    """Return a page without the declarations (`<!DOCTYPE html [<!ENTITY ...>]>`) it begins with."""
    match = _OWN_DTD.search(page, 0, _DTD_CHARACTERS)
    return page if match is None else page[: match.start()] + page[match.end() :]


def visible_text(page: str, wanted_by: str, *, main_content: bool = False, **options: bool) -> str:
    """Return the text of a page as a reader sees it, with its lines, paragraphs and lists.

    Scripts, comments, declarations and the readings of ruby are left out. `pre` keeps its white
    space; but the text has no blank lines at its ends, and one at most elsewhere. resiliparse
    parses the page (Bevendorff et al. 2018, "Elastic ChatNoir"); lone surrogates become U+FFFD.

    Args:
      wanted_by: what needs the package, for the error where it is missing.
      main_content: leave out navigation, headers, footers and the like.
      options: those of resiliparse's `extract_plain_text`.
    """
    html2text = load_package("resiliparse.extract.html2text", wanted_by)
    page = page.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    page = drop_dtd(page)
    options |= {"preserve_formatting": True, "main_content": main_content}
    without = ["rt", "rp"]
    tree: Any = page
    if main_content:
        html = load_package("resiliparse.parse.html", wanted_by)
        tree = html.HTMLTree.parse(_SHORT_TEXT.sub(rf"\1{_ADDED}", page))
        _deepen_lists(tree)
    text: str = html2text.extract_plain_text(tree, skip_elements=without, **options)
    if main_content and not text.strip() and _unname_around_content(tree):
        text = html2text.extract_plain_text(tree, skip_elements=without, **options)
    if main_content:
        text = text.replace(_ADDED, "")
    text = _BLANK_LINES.sub("\n\n", text.rstrip())
    return text[start.end() :] if (start := _BLANK_START.match(text)) else text


def _deepen_lists(tree: Any) -> None:
    """Put elements around lists near the root; whether they are menus, their links then tell."""
    body = tree.body
    # A slice: iterating over a collection takes quadratic time.
    for element in body.get_elements_by_tag_name("ul")[:] if body else ():
        above = element.parent
        for _ in range(_LIST_DEPTH - 2):
            above = above.parent if above != body else above
        if above != body:
            continue
        parent, outer = element.parent, tree.create_element("div")
        parent.insert_before(outer, element)
        for _ in range(_LIST_DEPTH - 2):
            outer = outer.append_child(tree.create_element("div"))
        outer.append_child(element)


def _unname_around_content(tree: Any) -> bool:
    """Take the names from the elements around headings and articles; return whether there were any.

    resiliparse leaves out all that is in `<div id="navigation-container">`, be it the whole page.
    """
    body, changed = tree.body, False
    contents = body.query_selector_all("h1, article, main")[:_MOST_CONTENTS] if body else []
    for element in contents:
        while element is not None:
            for name in ("class", "id"):
                if element.hasattr(name):
                    del element[name]
                    changed = True
            element = element.parent if element != body else None
    return changed


class TagMeasures(NamedTuple):
    """The largest number of nested elements of a page, and of attributes of a tag."""

    depth: int
    num_attributes: int


def measure_tags(page: str, *, few_attributes: int = 0) -> TagMeasures:
    """Measure tags in linear time; those too short for more than `few_attributes` count none."""
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
