"""Write a small sample of each source, as its publisher ships it, and plant what curation removes.

write_samples(Path("corpus_output/sources"))
  ->  wiki-pages-articles.xml.bz2, books/*.txt, arXiv_src_2401_001.tar, dump/*/Posts.xml,
      repositories/*, c4.jsonl.gz, crawl.warc.gz; and what steps need: reference.txt,
      chatter.txt, flagged.txt, evaluation.jsonl

The same Python always writes the same samples. `PLANTED` says what is in them that should not stay.
"""

import bz2
import gzip
import io
import json
import shutil
import sysconfig
import tarfile
import textwrap
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from xml.sax.saxutils import quoteattr

from bert_data.text.corpora.licence_headers import header_licence
from examples.corpus.prose import (
    advertisement,
    chatter,
    flagged,
    german,
    paragraphs,
    pieces,
    questions,
)

PLANTED = {
    "second editions of books": 1,
    "questions of a small site": 8,
    "files under GPL-3.0": 8,
    "copied files": 5,
    "minified files": 3,
    "pages of filler": 5,
    "German pages": 14,
    "pages of advertisements": 16,
    "pages of chatter": 40,
    "pages of a casino": 6,
    "pages copied from Wikipedia": 12,
    "pages copied from C4": 8,
    "texts with evaluation questions": 6,
    "pages with addresses": 6,
}
"""Numbers of documents, by what they are."""

_BOOKS, _PIECES_A_BOOK = 5, 20
_PAPERS, _PIECES_A_PAPER = 24, 3
_SMALL_SITE, _SITE = "coffee.stackexchange.com", "superuser.com"
_CHATTER = 20  # lines of a page
_FILE_BYTES = (2_000, 9_000)


def write_samples(folder: Path) -> None:
    """Write all samples to a new folder."""
    folder.mkdir(parents=True)
    prose = iter(pieces())
    articles, web = _take(prose, 110), _take(prose, 90)
    asked = questions()
    _write_wiki(folder / "wiki-pages-articles.xml.bz2", articles)
    _write_books(folder / "books", [_take(prose, _PIECES_A_BOOK) for _ in range(_BOOKS)])
    papers = [_take(prose, _PIECES_A_PAPER) for _ in range(_PAPERS)]
    _write_papers(folder / "arXiv_src_2401_001.tar", papers)
    _write_posts(folder / "dump", _take(prose, 70), asked[:2])
    _write_repositories(folder / "repositories")
    _write_c4(folder / "c4.jsonl.gz", web)
    pages = _pages(_take(prose, 130), articles, web, asked[2:6])
    _write_crawl(folder / "crawl.warc.gz", pages)
    reference = "\n\n".join("\n".join(piece) for piece in _take(prose, 50))
    (folder / "reference.txt").write_text(f"{reference}\n", "utf-8")
    _write_chatter(folder / "chatter.txt")
    (folder / "flagged.txt").write_text("\n".join(flagged()) + "\n", "utf-8")
    rows = (json.dumps({"text": question}) for question in asked)
    (folder / "evaluation.jsonl").write_text("\n".join(rows) + "\n", "utf-8")


def _take(prose: Iterator[list[str]], number: int) -> list[list[str]]:
    return [next(prose) for _ in range(number)]


def _title(piece: list[str]) -> str:
    return " ".join(piece[0].rstrip(".").split()[:5])


def _write_wiki(path: Path, articles: Iterable[list[str]]) -> None:
    """Write a dump: links, a template, a reference and a category in each article, a redirect."""
    pages = [_wiki_page(0, "Old name", "#REDIRECT [[New name]]", "<redirect title='New name' />")]
    pages.append(_wiki_page(1, "Talk:New name", "I do not think so. ~~~~"))
    for piece in articles:
        first, *others = map(escape, paragraphs(piece))
        text = "{{Infobox|name=x}}\n'''" + first + "'''<ref>A book, p. 7.</ref>\n\n== More ==\n"
        text += "\n\n".join(
            [*others, "See also [[Python|the language]].", "[[Category:Computing]]"]
        )
        pages.append(_wiki_page(0, _title(piece), text.replace("<ref>", "&lt;ref&gt;").replace(
            "</ref>", "&lt;/ref&gt;")))  # fmt: skip
    head = (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en"><siteinfo>'
        "<dbname>enwiki</dbname><base>https://en.wikipedia.org/wiki/Main_Page</base><namespaces>"
        '<namespace key="0" /><namespace key="1">Talk</namespace></namespaces></siteinfo>\n'
    )
    path.write_bytes(bz2.compress(f"{head}{''.join(pages)}</mediawiki>".encode()))


def _wiki_page(namespace: int, title: str, text: str, more: str = "") -> str:
    return (
        f"<page><title>{escape(title)}</title><ns>{namespace}</ns><id>1</id>{more}<revision>"
        f"<timestamp>2024-01-01T00:00:00Z</timestamp><text>{text}</text></revision></page>\n"
    )


def _write_books(folder: Path, books: list[list[list[str]]]) -> None:
    """Write books of Project Gutenberg; the last one is the first one with a preface."""
    folder.mkdir()
    preface = ["This edition corrects a few words of the first one.", "The rest is as it was."]
    for number, book in enumerate([*books, [preface, *books[0]]]):
        title = f"The Book of {_title(book[-1])}"
        text = "\n\n".join(
            textwrap.fill(paragraph, 70) for piece in book for paragraph in paragraphs(piece)
        )
        (folder / f"{1000 + number}-0.txt").write_text(
            f"The Project Gutenberg eBook of {title}\n\nTitle: {title}\n\nLanguage: English\n\n"
            f"*** START OF THE PROJECT GUTENBERG EBOOK {title.upper()} ***\n\n{text}\n\n"
            f"*** END OF THE PROJECT GUTENBERG EBOOK {title.upper()} ***\n\nThe licence follows.\n",
            "utf-8",
        )


_LATEX = str.maketrans({each: f"\\{each}" for each in "&%$#_{}"} | {"\\": "", "~": " ", "^": " "})


def _write_papers(path: Path, papers: list[list[list[str]]]) -> None:
    """Write an archive of papers, one of them as PDF only."""
    with tarfile.open(path, "w") as archive:
        for number, paper in enumerate(papers):
            sections = "\n".join(
                f"\\section{{Part {i}}}\n% to be written anew\n"
                + "\n\n".join(paragraphs(piece)).translate(_LATEX)
                for i, piece in enumerate(paper, 1)
            )
            source = (
                "\\documentclass{article}\n\\newcommand{\\ours}{the method}\n"
                f"\\title{{On {_title(paper[0]).translate(_LATEX)}}}\n\\begin{{document}}\n"
                f"\\maketitle\nThanks to all.\n{sections}\nWe call it \\ours.\n"
                "\\begin{thebibliography}{1}\\bibitem{a} A book.\\end{thebibliography}\n"
                "\\end{document}\n"
            )
            _add(archive, f"2401/2401.{number:05d}.gz", gzip.compress(source.encode(), mtime=0))
        _add(archive, "2401/2401.99999.pdf", b"%PDF-1.5")


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def _write_posts(folder: Path, threads: list[list[str]], asked: list[str]) -> None:
    """Write the dumps of a large site, some of whose questions an evaluation asks, and a small."""
    small = PLANTED["questions of a small site"]
    for site, some in ((_SMALL_SITE, threads[:small]), (_SITE, threads[small:])):
        rows = []
        for number, piece in enumerate(some, 1):
            question, answers = paragraphs(piece)[:2], paragraphs(piece)[2:]
            if site == _SITE and number <= len(asked):
                question.append(asked[number - 1])
            rows.append(_post(10 * number, question, Title=_title(piece), Score=number % 9))
            rows += [
                _post(10 * number + i, [answer], ParentId=10 * number, Score=(i * 5) % 7)
                for i, answer in enumerate(answers[:6], 1)
            ]
        (folder / site).mkdir(parents=True)
        text = f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{"".join(rows)}</posts>'
        (folder / site / "Posts.xml").write_text(text, "utf-8")


def _post(number: int, texts: list[str], **others: object) -> str:
    body = "".join(f"<p>{escape(text)}</p>" for text in texts)
    kind = 2 if "ParentId" in others else 1
    values = {"Id": number, "PostTypeId": kind, "Body": body, **others}
    return f"<row {' '.join(f'{k}={quoteattr(str(v))}' for k, v in values.items())} />\n"


def _write_repositories(folder: Path) -> None:
    """Write folders of repositories: modules of Python's library, under several licences."""
    low, high = _FILE_BYTES
    top = Path(sysconfig.get_path("stdlib"))
    modules = sorted(path for path in top.glob("*.py") if low < path.stat().st_size < high)
    files = [path.read_text("utf-8", "replace") for path in modules]
    fields = {"code_language": "Python"}
    files = [text for text in files if header_licence(text, fields) is None]  # no notice of its own
    num_gpl, num_copies = PLANTED["files under GPL-3.0"], PLANTED["copied files"]
    gpl, mit, apache = files[:num_gpl], files[num_gpl : num_gpl + 20], files[num_gpl + 20 :]
    mit = [f"# SPDX-License-Identifier: MIT\n{text}" for text in mit]
    gpl = [f"# SPDX-License-Identifier: GPL-3.0-only\n{text}" for text in gpl]
    for name, texts in (("gpl", gpl), ("mit", mit), ("apache", [*apache, *mit[:num_copies]])):
        repository = folder / f"{name}-tools"
        (repository / ".git").mkdir(parents=True)
        for number, text in enumerate(texts):
            (repository / f"module_{number:02d}.py").write_text(text, "utf-8")
    shutil.copy(Path(__file__).parents[2] / "LICENSE", folder / "apache-tools" / "LICENSE")
    for number in range(PLANTED["minified files"]):
        line = "".join(f"var v{i}=function(a){{return a+{i + number}}};" for i in range(300))
        (folder / "apache-tools" / f"bundle_{number}.min.js").write_text(line)


def _write_c4(path: Path, web: list[list[str]]) -> None:
    """Write rows of pages' text, with menus, and some that are filler."""
    texts = ["\n".join(["Home | About | Contact", *paragraphs(piece)]) for piece in web]
    filler = "Lorem ipsum dolor sit amet, consectetur adipiscing elit number {}."
    texts += ["\n".join([filler.format(i)] * 5) for i in range(PLANTED["pages of filler"])]
    rows = (
        json.dumps({"text": text, "url": f"https://c4.example/{number}"})
        for number, text in enumerate(texts)
    )
    path.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode(), mtime=0))


def _write_chatter(path: Path) -> None:
    """Write texts like those of forums, but none that are in the crawl."""
    first = PLANTED["pages of chatter"] * _CHATTER
    texts = (
        "\n".join(chatter(first + page * _CHATTER + i) for i in range(_CHATTER))
        for page in range(40)
    )
    path.write_text("\n\n".join(texts) + "\n", "utf-8")


def _pages(
    own: list[list[str]], articles: list[list[str]], web: list[list[str]], asked: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the kind and paragraphs of each page of the crawl."""
    num_addresses = PLANTED["pages with addresses"]
    for number, piece in enumerate(own):
        if number < num_addresses:
            contact = f"{_title(piece)}: ask anna.weber{number}@mill-and-river.org for more."
            yield "address", [*paragraphs(piece), contact]
        elif number < num_addresses + len(asked):
            yield "asked", [*paragraphs(piece), asked[number - num_addresses]]
        elif number < num_addresses + len(asked) + PLANTED["pages of a casino"]:
            offer = f"{_title(piece)}: {', '.join(flagged())}, and number {number} wins."
            yield "casino", [*paragraphs(piece), offer]
        else:
            yield "own", paragraphs(piece)
    for piece in articles[: PLANTED["pages copied from Wikipedia"]]:
        yield "copied", paragraphs(piece)
    for piece in web[: PLANTED["pages copied from C4"]]:
        yield "copied", paragraphs(piece)
    for page in range(PLANTED["German pages"]):
        yield "german", [german(page + 14 * i) for i in range(24)]
    for page in range(PLANTED["pages of chatter"]):
        yield "chatter", [chatter(page * _CHATTER + i) for i in range(_CHATTER)]
    for page in range(PLANTED["pages of advertisements"]):
        yield "advertisement", [advertisement(page * 40 + i) for i in range(40)]


def _write_crawl(path: Path, pages: Iterable[tuple[str, list[str]]]) -> None:
    """Write responses as Common Crawl archives them, each compressed by itself."""
    with path.open("wb") as file:
        for number, (kind, texts) in enumerate(pages):
            body = "".join(f"<p>{escape(text)}</p>\n" for text in texts)
            page = (
                f"<!doctype html><html><head><title>Page {number}</title></head><body><nav><ul>"
                "<li><a href='/'>Home</a></li><li><a href='/all'>All pages</a></li></ul></nav>"
                f"<main><h1>Page {number}</h1>{body}</main>"
                "<footer>All rights reserved. Terms of use.</footer></body></html>"
            )
            answer = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{page}"
            content = answer.encode()
            head = (
                "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
                f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012d}>\r\n"
                f"WARC-Target-URI: https://{kind}.example/{number}\r\n"
                "Content-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(content)}\r\n\r\n"
            )
            file.write(gzip.compress(head.encode() + content + b"\r\n\r\n", mtime=0))
