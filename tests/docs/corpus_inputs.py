"""Files of corpora as their publishers ship them, made of English prose: a few documents each."""

import bz2
import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.sax.saxutils import quoteattr

from tests.docs.inputs import makes, prose, write_packed


def pages() -> Iterator[tuple[str, str]]:
    """Yield the HTML of pages, with their URLs, which articles of `write_wiki` cite."""
    for number, sentences in enumerate(prose()):
        body = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in sentences)
        page = f"<html><head><title>{number}</title></head><body><main>{body}</main></body></html>"
        yield f"https://web.example/{number}", page


@makes("*.xml.bz2")
def write_wiki(path: Path) -> None:
    articles = []
    for number, sentences in enumerate(prose()):
        text = " ".join(sentences) + f"<ref>https://web.example/{number}</ref>\n\n== More ==\nText."
        articles.append(
            f"<page><title>A {number}</title><ns>0</ns><id>{number}</id><revision>"
            f"<timestamp>2024-01-01T00:00:00Z</timestamp><text>{escape(text)}</text>"
            "</revision></page>\n"
        )
    head = (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en"><siteinfo>'
        "<dbname>enwiki</dbname><base>https://en.wikipedia.org/wiki/Main_Page</base><namespaces>"
        '<namespace key="0" /></namespaces></siteinfo>\n'
    )
    path.write_bytes(bz2.compress(f"{head}{''.join(articles)}</mediawiki>".encode()))


def warc_record(kind: str, url: str, media: str, content: bytes) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{abs(hash(url))}>\r\nWARC-Target-URI: {url}\r\n"
        f"Content-Type: {media}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + content + b"\r\n\r\n", mtime=0)


@makes("*.warc.gz")
def write_crawl(path: Path) -> None:
    http = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    media = "application/http; msgtype=response"
    records = (warc_record("response", url, media, (http + page).encode()) for url, page in pages())
    path.write_bytes(b"".join(records))


@makes("*.wet.gz")
def write_texts(path: Path) -> None:
    texts = ("\n".join(sentences).encode() for sentences in prose())
    path.write_bytes(
        b"".join(
            warc_record("conversion", f"https://a.example/{n}", "text/plain", text)
            for n, text in enumerate(texts)
        )
    )


@makes("*/Posts.xml")
def write_posts(path: Path) -> None:
    rows = []
    for number, sentences in enumerate(prose(), 1):
        question, answer = (f"<p>{escape(' '.join(each))}</p>" for each in (sentences, sentences))
        for kind, body, more in (
            (1, question, {"Title": f"Question {number}", "Score": 5}),
            (2, answer, {"ParentId": 10 * number, "Score": 3}),
        ):
            values = {"Id": 10 * number + kind - 1, "PostTypeId": kind, "Body": body, **more}
            rows.append(
                f"<row {' '.join(f'{k}={quoteattr(str(v))}' for k, v in values.items())} />"
            )
    text = '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n' + "\n".join(rows) + "\n</posts>"
    path.write_text(text, encoding="utf-8")


def write_archive(path: Path, files: dict[str, bytes], mode: str) -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


@makes("src/*.tar")
def write_papers(path: Path) -> None:
    papers = {}
    for number, sentences in enumerate(prose()):
        text = " ".join(sentence for sentence in sentences if sentence.isascii())
        for each in "\\&%$#_{}^~":
            text = text.replace(each, " ")
        source = f"\\documentclass{{article}}\n\\begin{{document}}\n{text}\n\\end{{document}}\n"
        papers[f"2401/2401.{number:05d}.gz"] = gzip.compress(source.encode(), mtime=0)
    write_archive(path, papers, "w")


@makes("repositories/*.tar.gz")
def write_repository(path: Path) -> None:
    sources = sorted(Path(json.__file__).parent.glob("*.py"))
    header = b"# SPDX-License-Identifier: MIT\n"
    files = {f"tools/{each.name}": header + each.read_bytes() for each in sources}
    write_archive(path, files, "w:gz")


@makes("gutenberg/*.txt")
def write_book(path: Path) -> None:
    text = "\n\n".join(map(" ".join, prose()))
    path.write_text(
        f"The Project Gutenberg eBook of A\n\nTitle: A\n\nLanguage: English\n\n"
        f"*** START OF THE PROJECT GUTENBERG EBOOK A ***\n\n{text}\n\n"
        "*** END OF THE PROJECT GUTENBERG EBOOK A ***\n",
        encoding="utf-8",
    )


@makes("*.jsonl", "*.jsonl.*")
def write_rows(path: Path) -> None:
    """Rows with all the fields that pages name."""
    rows = []
    for number, sentences in enumerate([["A text of a few words and no more."], *prose()]):
        text = " ".join(sentences)
        fields = {
            "id": f"<urn:uuid:{number}>",
            "text": text,
            "url": f"https://www.example.org/{number}",
            "license": "proprietary" if number % 5 == 0 else "cc-by-4.0",
            "karma": number % 7,
            "meta": {"text": text},
            "instruction": sentences[0],
            "output": text,
            "label": ("good", "bad")[number % 2],
        }
        rows.append(json.dumps(fields) + "\n")
    write_packed(path, "".join(rows).encode())
