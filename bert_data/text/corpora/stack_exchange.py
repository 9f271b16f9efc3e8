r"""Dumps of Stack Exchange: a question with its answers is a document.

    coffee.stackexchange.com/Posts.xml
    <row Id="1" PostTypeId="1" Score="20" Title="Storing beans" Tags="&lt;beans&gt;" Body="How?"/>
    <row Id="2" PostTypeId="2" ParentId="1" Score="3" Body="&lt;p&gt;Airtight.&lt;/p&gt;"/>
    <row Id="3" PostTypeId="2" ParentId="1" Score="11" Body="&lt;p&gt;Frozen.&lt;/p&gt;"/>
      ->
    TextDocument(row 1, "Q: Storing beans\n\nHow?\n\nA: Frozen.\n\nA: Airtight.",
                 {"site": "coffee.stackexchange.com", "title": "Storing beans", "tags": ["beans"],
                  "score": 20, "num_answers": 2, "date": ..., "url": ..., "licence": ...})
                 row: the question's number on its site

Answers are sorted by score, the highest first; of equal ones the older comes first (Touvron et al.
2023, section 2.1). Wikis of tags, deleted and other posts are left out, and so are answers whose
question is not in the dump, which are counted. After damage, reading goes on with the next row.
Tags are removed from the posts' HTML by resiliparse.

Answers follow their questions at any distance, so the posts of a site are first sorted in a
temporary database on disk (SQLite's, in TMPDIR), about as large as the dump's text.
"""

import contextlib
import html
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bert_data.errors import CorruptDataError
from bert_data.text.compression import DAMAGE, open_bytes
from bert_data.text.corpora.archives import SEVENZIP_ENDING, feed_member
from bert_data.text.corpora.xml_events import Element, XmlEvents, read_parts
from bert_data.text.documents import DocumentBlock, RowError, Span
from bert_data.text.html import visible_text
from bert_data.text.text_config import STRICT, TextConfig

_BLOCK_CHARACTERS = 2 << 20
_QUESTION, _ANSWER = "1", "2"
_NAME = "posts.xml"
_POSTS = re.compile(r"(?:(?P<site>[^/]+?)[-._])?posts\.xml", re.IGNORECASE)
_CODES = re.compile(r"[<|]([^<>|]+)")
_SCHEMA = """CREATE TABLE posts (
    question INTEGER, is_answer INTEGER, score INTEGER, id INTEGER,
    title TEXT, tags TEXT, body TEXT, date TEXT, licence TEXT)"""
_SORTED = "SELECT * FROM posts ORDER BY question, is_answer, score DESC, id"
_LOST_ANSWERS = """SELECT count(*) FROM posts
    WHERE is_answer AND question NOT IN (SELECT id FROM posts WHERE NOT is_answer)"""
_COLUMNS = 9
_MAX_INTEGER = (1 << 63) - 1


def read(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the questions of dumps, by their numbers; everything before damage is read."""
    for span in spans:
        site = _site(span.path)
        with contextlib.closing(sqlite3.connect("")) as database:
            database.execute(_SCHEMA)
            damage: Exception | None = None
            posts = _Posts(span.path, database, config)
            try:
                _feed(span.path, posts)
            except (CorruptDataError, *DAMAGE) as error:
                damage = error
            except sqlite3.OperationalError as error:
                raise OSError(f"{span.path}: the temporary database failed ({error})") from error
            first = DocumentBlock(path=span.path, num_rows=posts.num_rows)
            first.num_file_bytes = posts.num_file_bytes
            for number, row_error in posts.damaged:
                first.skip(number, row_error, config)
            yield from _blocks(first, database, site, config)
        if damage is not None:
            raise damage


class _Posts:
    """Adds the posts of a dump, which it is given in parts, to a database.

    Attributes:
      num_rows: of the dump, so far.
      num_file_bytes: of its file, as far as it has been read.
      damaged: numbers of damaged rows, and what is wrong there.
    """

    def __init__(self, path: str, database: sqlite3.Connection, config: TextConfig) -> None:
        self.num_rows = self.num_file_bytes = 0
        self.damaged: list[tuple[int, RowError]] = []
        self._database = database
        self._xml = XmlEvents(
            path,
            root="posts",
            unit="row",
            kind="the posts of a Stack Exchange dump",
            goes_on=config.on_error != STRICT,
        )

    def feed(self, data: bytes) -> None:
        self._add(self._xml.feed(data))

    def _add(self, elements: Iterator[Element | RowError]) -> None:
        for element in elements:
            if isinstance(element, RowError):
                self.num_rows += 1
                self.damaged.append((self.num_rows, element))
            elif element.name == "row" and element.text is not None:
                self.num_rows += 1
                _keep(self._database, element.attributes)

    def close(self) -> None:
        self._add(self._xml.close())


def _feed(path: str, posts: _Posts) -> None:
    if path.lower().endswith(SEVENZIP_ENDING):
        posts.num_file_bytes = feed_member(path, _NAME, posts.feed)
    else:
        with open_bytes(path) as (text, file):
            try:
                for data in read_parts(text):
                    posts.feed(data)
            finally:
                posts.num_file_bytes = file.tell()
    posts.close()


def _keep(database: sqlite3.Connection, post: Mapping[str, str]) -> None:
    kind = post.get("PostTypeId")
    number = _integer(post.get("Id"))
    question = number if kind == _QUESTION else _integer(post.get("ParentId"))
    if kind not in (_QUESTION, _ANSWER) or number is None or question is None:
        return
    if post.get("DeletionDate"):
        return
    values = (
        *(question, kind == _ANSWER, _integer(post.get("Score")) or 0, number),
        *(post.get(name, "") for name in ("Title", "Tags", "Body", "CreationDate")),
        post.get("ContentLicense", ""),
    )
    database.execute(f"INSERT INTO posts VALUES ({', '.join('?' * _COLUMNS)})", values)


def _integer(value: str | None) -> int | None:
    try:
        number = int(value or "")
    except ValueError:
        return None
    return number if abs(number) <= _MAX_INTEGER else None


def _blocks(
    block: DocumentBlock, database: sqlite3.Connection, site: str, config: TextConfig
) -> Iterator[DocumentBlock]:
    """Yield blocks of questions with their answers, from a first one on; the last may be empty."""
    path, num_characters = block.path, 0
    if num_lost := database.execute(_LOST_ANSWERS).fetchone()[0]:
        block.left_out["answers without a question"] = num_lost
    for question, answers in _questions(database):
        bodies = [question[6], *(each[6] for each in answers)]
        texts = [visible_text(body, f"{path}: Stack Exchange") for body in bodies]
        title = html.unescape(question[4]).strip()
        if not (title or any(texts)):
            continue
        posts = [f"Q: {title}\n\n{texts[0]}".rstrip() if title else _post("Q", texts[0])]
        document = "\n\n".join([*posts, *(_post("A", text) for text in texts[1:] if text)])
        if block.drops(question[3], len(document.encode()), config):
            continue
        block.add(question[3], document, _fields(site, question, title, len(answers)), config)
        num_characters += len(document)
        if num_characters >= _BLOCK_CHARACTERS:
            yield block
            block, num_characters = DocumentBlock(path=path), 0
    yield block


def _questions(database: sqlite3.Connection) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the rows of each question and of its answers, in the order of the document."""
    question: Any = None
    answers: list[Any] = []
    for row in database.execute(_SORTED):
        if not row[1]:
            if question is not None:
                yield question, answers
            question, answers = row, []
        elif question is not None and row[0] == question[0]:
            answers.append(row)
    if question is not None:
        yield question, answers


def _post(kind: str, text: str) -> str:
    """Return a post with its kind before it, on a line of its own if the post is indented."""
    return f"{kind}:\n{text}" if text[:1].isspace() else f"{kind}: {text}"


def _fields(site: str, question: Any, title: str, num_answers: int) -> dict[str, Any]:
    number, score, tags, date, licence = (question[i] for i in (3, 2, 5, 7, 8))
    return {
        "site": site,
        "title": title,
        "tags": _CODES.findall(tags),
        "date": date,
        "licence": licence,
        "url": f"https://{site}/questions/{number}" if "." in site else "",
        "score": score,
        "num_answers": num_answers,
    }


def _site(path: str) -> str:
    """Return the site that a dump's path names: of the file, or else its folder."""
    folder, name = os.path.split(path)
    if name.lower().endswith(SEVENZIP_ENDING):
        stem = name[: -len(SEVENZIP_ENDING)]
        name = f"{stem}.xml" if stem.lower().endswith("posts") else f"{stem}.{_NAME}"
    match = _POSTS.match(name)
    site = match["site"] if match and match["site"] else os.path.basename(folder)
    return f"{site}.com" if site.endswith(".stackexchange") else site
