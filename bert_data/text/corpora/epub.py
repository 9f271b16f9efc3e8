"""Books as EPUB: the text of their pages in reading order, with title, author and language.

    a.epub  META-INF/container.xml -> package.opf -> spine: chapter-1.xhtml, chapter-2.xhtml
      ->  TextDocument(row 1, "Loomings\\n\\nCall me Ishmael. ...",
                       {"title": "Moby-Dick", "author": "Herman Melville", "language": "en"})

Pages outside the reading order (`linear="no"`), the table of contents and the readings of ruby are
left out. Tags are removed by resiliparse. The format is EPUB 3 (W3C) or 2.
"""

import posixpath
import re
import urllib.parse
import zipfile
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from bert_data.errors import CorruptDataError
from bert_data.storage import file_size, naming, open_input
from bert_data.text.compression import DAMAGE
from bert_data.text.corpora.archives import read_zipped
from bert_data.text.corpora.gutenberg import Chapter, make_block
from bert_data.text.documents import DocumentBlock, RowError, Span
from bert_data.text.html import decode_page, measure_tags, visible_text
from bert_data.text.text_config import TextConfig
from bert_data.text.xhtml import as_html

MAX_EPUB_PAGE_BYTES, MAX_EPUB_BYTES = 64 << 20, 256 << 20
"""The longest page, and the longest text of all pages, with their tags."""

_CONTAINER = "META-INF/container.xml"
_RIGHTS = "META-INF/rights.xml"
_ELEMENT = re.compile(r"<(\w++)([^<>]*+)>(?:(?<=/>)|[^<]*+</\1\s*+>)", re.IGNORECASE)
_MOST_DEPTH, _MOST_ATTRIBUTES = 512, 1_000  # parsing takes quadratic time
_PAGE_NUMBER = re.compile(r"\bpagebreak\b", re.IGNORECASE)
_PAGE_TYPES = ("application/xhtml+xml", "text/html")


def read(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield books; one is in memory as a whole. Each page is a chapter."""
    for span in spans:
        try:
            with naming(span.path), open_input(span.path) as file, zipfile.ZipFile(file) as book:
                chapters, fields = _read(span.path, book, config)
        except RowError as error:
            block = DocumentBlock(path=span.path, num_rows=1)
            block.skip(1, error, config)
            yield block
            continue
        except (zipfile.BadZipFile, *DAMAGE, NotImplementedError, KeyError) as error:
            raise CorruptDataError(span.path, 0, f"not an EPUB, or damaged ({error})") from error
        except ElementTree.ParseError as error:
            reason = f"the description of the book is damaged ({error})"
            raise CorruptDataError(span.path, 0, reason) from None
        yield make_block(span.path, chapters, fields, file_size(span.path), config)


def _read(
    path: str, book: zipfile.ZipFile, config: TextConfig
) -> tuple[list[Chapter], dict[str, str]]:
    if _RIGHTS in book.namelist():
        raise RowError("the book is encrypted")
    container = ElementTree.fromstring(_member(book, _CONTAINER))
    root = container.find(".//{*}rootfile")
    if root is None:
        raise CorruptDataError(path, 0, "the container of the EPUB names no package")
    place = root.get("full-path", "")
    package = ElementTree.fromstring(_member(book, place))
    chapters: list[Chapter] = []
    num_bytes = 0
    for name in dict.fromkeys(_pages(package, posixpath.dirname(place))):
        data = _member(book, name)
        num_bytes += len(data)
        if num_bytes > MAX_EPUB_BYTES:
            raise RowError(f"its pages have more than {MAX_EPUB_BYTES:,} bytes")
        page = as_html(decode_page(data, None, config.encoding_errors)[0])
        tags = measure_tags(page, few_attributes=_MOST_ATTRIBUTES)
        if tags.depth > _MOST_DEPTH or tags.num_attributes > _MOST_ATTRIBUTES:
            raise RowError(f"{name} has too many nested elements, or attributes of one")
        text = visible_text(drop_page_numbers(page), f"{path}: EPUB")
        if any(map(str.isalnum, text)):
            chapters.append(Chapter("", text))
    if not chapters:
        raise RowError("the book has no text")
    return chapters, _describe(package)


def drop_page_numbers(page: str) -> str:
    """Return a page without the numbers of printed pages."""
    return _ELEMENT.sub(lambda each: "" if _PAGE_NUMBER.search(each[2]) else each[0], page)


def _member(book: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of the book; KeyError if there is none, RowError if it is too long."""
    data = read_zipped(book, name, MAX_EPUB_PAGE_BYTES + 1)
    if len(data) > MAX_EPUB_PAGE_BYTES:
        raise RowError(f"{name} has more than {MAX_EPUB_PAGE_BYTES:,} bytes")
    return data


def _pages(package: ElementTree.Element, folder: str) -> Iterator[str]:
    items = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item")}
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or reference.get("linear") == "no":
            continue
        is_contents = "nav" in (item.get("properties") or "").split()
        if item.get("media-type") in _PAGE_TYPES and not is_contents:
            name = urllib.parse.unquote(item.get("href", "")).partition("#")[0]
            yield posixpath.normpath(posixpath.join(folder, name))


def _describe(package: ElementTree.Element) -> dict[str, str]:
    names = {"title": "title", "creator": "author", "language": "language", "date": "date"}
    fields: dict[str, str] = {}
    for element in package.iterfind(".//{*}metadata/*"):
        name = names.get(element.tag.rpartition("}")[2])
        if name and name not in fields and (element.text or "").strip():
            fields[name] = " ".join((element.text or "").split())
    return fields
