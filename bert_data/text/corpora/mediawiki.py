r"""Dumps of wikis: their articles as prose, from MediaWiki's XML, also compressed.

    <page><title>Styx</title><ns>0</ns><id>7</id>        TextDocument(row 7,
      <revision><text>The '''Styx''' is                    "# Styx\n\nThe Styx is a river.",
      a [[river]].</text></revision></page>         ->     {"title": "Styx", "language": "en",
                                                            "url": "https://.../wiki/Styx",
                                                            "date": "2024-01-01T00:00:00Z",
                                                            "references": ["https://..."]})
                                                           row: the page's number in its wiki

Redirects, talk and all other pages outside the namespace of articles are left out, and so are
pages that are not wikitext. Of several revisions of a page the last one counts. `wiki_markup.py`
turns their markup into prose. After damage of the XML, such as a control character, reading goes on
with the next page.

A dump is cut into parts at its pages, if it is plain, or at the streams of a multistream dump
(`pages-articles-multistream.xml.bz2`), each of which holds 100 pages.
"""

import bz2
import dataclasses
import functools
import html
import re
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import IO, Any

from bert_data.storage import naming, open_input, read_bytes
from bert_data.text.compression import open_bytes
from bert_data.text.corpora.wiki_markup import DROPPED_NAMESPACES, Rules, to_prose
from bert_data.text.corpora.wiki_templates import Templates, own_templates
from bert_data.text.corpora.xml_events import Element, XmlEvents, read_parts
from bert_data.text.documents import DocumentBlock, RowError, Span, fill_blocks
from bert_data.text.text_config import STRICT, TextConfig

_READ_BYTES = 256 << 10
_ROOT_END = b"</mediawiki>"
_ELEMENTS_OF_PAGES = frozenset({"title", "ns", "id", "redirect", "text", "timestamp", "model"})
_WIKITEXT = "wikitext"
REFERENCES = "references"
"""Field of the URLs that a page cites."""
# In dumps that do not mark them: #REDIRECT, #転送; a word in Latin letters has four or more.
_REDIRECT = re.compile(r"\s*#(?=[^\s\[:]{4}|[^\s\[:]*[^\0-\x7f])[^\s\[:]{2,20}\s*:?\s*\[\[")
_PAGE = b"<page>"
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
_STREAM_HEADER_BYTES = 10
# The namespaces of pictures, media and categories, whatever a wiki calls them.
_DROPPED_KEYS = ("-2", "6", "14")


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Wiki:
    language: str | None = None
    base_url: str | None = None
    dropped_namespaces: frozenset[str] = DROPPED_NAMESPACES
    templates: Templates = dataclasses.field(default_factory=own_templates)


def read(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the articles of dumps; everything before damage is read."""
    templates = own_templates()
    if config.templates_file is not None:
        more = read_bytes(config.templates_file).decode(errors="replace")
        templates = templates.with_more(more, config.templates_file)
    for span in spans:
        wiki = dataclasses.replace(_read_head(span.path), templates=templates)
        with open_bytes(span.path, span.start, span.end) as (text, file):
            add = functools.partial(_add_page, wiki, config)
            pages = _pages(_elements(span, text, goes_on=config.on_error != STRICT))
            yield from fill_blocks(span.path, pages, add, position=file.tell, start=span.start)


def find_page(path: str, position: int) -> int | None:
    """Return where the first page, or stream of pages, at or after a place in a file begins."""
    if position == 0:
        return 0
    if path.endswith(".bz2"):
        return _find(path, position, _STREAM, _STREAM_HEADER_BYTES)
    if path.endswith(".xml"):
        return _find(path, position, re.compile(_PAGE), len(_PAGE))
    return None


def _find(path: str, position: int, pattern: re.Pattern[bytes], num_bytes: int) -> int | None:
    with naming(path), open_input(path, buffering=0) as file:
        file.seek(position)
        data = b""
        while more := file.read(_READ_BYTES):
            kept = data[len(data) - num_bytes + 1 :] if len(data) >= num_bytes else data
            position += len(data) - len(kept)
            data = kept + more
            for match in pattern.finditer(data):
                if pattern is not _STREAM or _begins_with_page(path, position + match.start()):
                    return position + match.start()
    return None


def _begins_with_page(path: str, position: int) -> bool:
    """Whether a stream of a dump begins with a page, as all but its first and last ones do."""
    with naming(path), open_input(path, buffering=0) as file:
        file.seek(position)
        stream, text = bz2.BZ2Decompressor(), b""
        try:
            while not stream.eof and len(text) < 100 and (data := file.read(_READ_BYTES)):
                text += stream.decompress(data, 100)
        except OSError:
            return False
    return text.lstrip().startswith(_PAGE)


def _read_head(path: str) -> _Wiki:
    language = base_url = None
    names = set(DROPPED_NAMESPACES)
    with open_bytes(path) as (text, _):
        for element in _elements(Span(path), text, goes_on=False):
            assert not isinstance(element, RowError)
            if element.name == "mediawiki":
                language = element.attributes.get("xml:lang")
            elif element.name == "page":
                break
            elif element.text is None:
                continue
            elif element.name == "namespace" and element.attributes.get("key") in _DROPPED_KEYS:
                names.add(element.text.strip().lower())
            elif element.name == "base" and element.text:
                base_url = element.text.strip().rpartition("/")[0]
    return _Wiki(language=language, base_url=base_url, dropped_namespaces=frozenset(names - {""}))


def _pages(elements: Iterator[Element | RowError]) -> Iterator[dict[str, str] | RowError]:
    """Yield what holds text of each page, by name; of revisions, the last one's."""
    page: dict[str, str] = {}
    for element in elements:
        if isinstance(element, RowError):
            yield element
        if isinstance(element, RowError) or (element.name == "page" and element.text is None):
            page = {}
        elif element.name == "page":
            yield page
        elif element.text is not None and element.name in _ELEMENTS_OF_PAGES:
            if element.name == "id":  # of the page, before those of its revisions
                page.setdefault("id", element.text)
            else:
                page[element.name] = element.text


def _elements(span: Span, text: IO[bytes], *, goes_on: bool) -> Iterator[Element | RowError]:
    xml = XmlEvents(
        span.path,
        root="mediawiki",
        unit="page",
        kind="a dump of MediaWiki",
        goes_on=goes_on,
        start=span.start,
    )
    for data in read_parts(text):
        yield from xml.feed(data)
    if span.end is not None:
        yield from xml.feed(_ROOT_END)
    yield from xml.close()


def _add_page(
    wiki: _Wiki,
    config: TextConfig,
    block: DocumentBlock,
    number: int,
    page: dict[str, str] | RowError,
) -> int:
    if isinstance(page, RowError):
        block.skip(number, page, config)
        return 0
    markup = page.get("text", "")
    is_article = page.get("ns", "0") == "0" and page.get("model", _WIKITEXT) == _WIKITEXT
    if "redirect" in page or not is_article or _REDIRECT.match(markup):
        return 0
    row = int(page["id"]) if page.get("id", "").isdecimal() else number
    if block.drops(row, len(markup) if markup.isascii() else len(markup.encode()), config):
        return 0
    rules = Rules(
        dropped_namespaces=wiki.dropped_namespaces,
        templates=wiki.templates,
        left_out=block.left_out,
    )
    prose = to_prose(markup, rules)
    title = page.get("title", "").strip()
    if not prose:
        return len(markup)
    fields: dict[str, Any] = {"title": title, "language": wiki.language}
    fields["date"] = page.get("timestamp")
    if config.keep_fields and (not config.needed_fields or REFERENCES in config.needed_fields):
        fields[REFERENCES] = find_references(markup)
    if wiki.base_url and title:
        fields["url"] = f"{wiki.base_url}/{urllib.parse.quote(title.replace(' ', '_'))}"
    block.add(row, f"# {title}\n\n{prose}" if title else prose, fields, config)
    return len(markup)


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"<ref\b[^<>]*(?<!/)>(.*?)(?:</ref\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_URL = re.compile(r"https?://[^\s\[\]<>{}|\"]+", re.IGNORECASE)
_PARAMETER = re.compile(r"\|\s{0,99}url\s{0,99}=\s{0,99}(?=https?://)", re.IGNORECASE)


def find_references(markup: str) -> list[str]:
    """Return the URLs that a page cites, each once, in the order of their first places."""
    markup = _COMMENT.sub("", markup)
    found = {
        url.start(): url[0]
        for reference in _REFERENCE.finditer(markup)
        for url in _URL.finditer(markup, *reference.span(1))
    }
    for parameter in _PARAMETER.finditer(markup):
        url = _URL.match(markup, parameter.end())
        if url is not None:
            found[url.start()] = url[0]
    return list(dict.fromkeys(_end_of_sentence_off(found[place]) for place in sorted(found)))


def _end_of_sentence_off(url: str) -> str:
    """Return a URL without what follows it in a sentence: marks, and a bracket that it closes."""
    url = html.unescape(url).rstrip(".,;:!?'")
    return url if "(" in url else url.rstrip(").,;:!?'")
