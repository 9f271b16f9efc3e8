"""XHTML: pages in XML, whose short tags and literal text parsers of HTML take for something else.

<title/><p>One.</p>           ->  <title></title><p>One.</p>
<p><![CDATA[1 < 2]]></p>      ->  <p>1 &lt; 2</p>
"""

import html
import re
from xml.etree import ElementTree

from bert_data.text.html import drop_dtd

_DECLARATION = re.compile(
    r"\ufeff?\s*<\?xml\s(?=.{0,1000}?<html\s[^<>]{0,500}http://www\.w3\.org/1999/xhtml\b)",
    re.DOTALL,
)
_CDATA = r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)"  # to the end, if need be: else the time is quadratic
_LITERAL = re.compile(_CDATA, re.DOTALL)
_ENTITY = re.compile(_CDATA + r"|&([A-Za-z]\w{1,31});", re.DOTALL)
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_CLOSED = re.compile(rf"""<(?!(?:{_VOID})\b)([A-Za-z]\w*+)(\s[^<>]*?["'\s]|)/>""", re.IGNORECASE)


def is_xhtml(page: str) -> bool:
    """Whether a page begins with an XML declaration, and its `<html>` names XHTML's namespace."""
    return _DECLARATION.match(page) is not None


def as_html(page: str) -> str:
    """Return XHTML as HTML, which has neither `<title/>` nor CDATA; what is not XML is mended."""
    page = drop_dtd(page).lstrip("\ufeff \t\r\n")
    try:
        root = ElementTree.fromstring(_ENTITY.sub(_character, page))
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
            if element.tag in ("script", "style"):
                element.text = None
        return ElementTree.tostring(root, "unicode", method="html")
    except (ElementTree.ParseError, RecursionError, ValueError):
        page = _LITERAL.sub(_escaped, page)
        return _CLOSED.sub(r"<\1\2></\1>", page)


def _escaped(literal: re.Match[str]) -> str:
    is_closed = literal[0].endswith("]]>")
    return html.escape(literal[1], quote=False) if is_closed else literal[0]


def _character(entity: re.Match[str]) -> str:
    """Return what a name of HTML stands for, which XML does not know."""
    is_html = entity[2] and entity[2] not in ("amp", "lt", "gt", "quot", "apos")
    return html.unescape(entity[0]) if is_html else entity[0]
