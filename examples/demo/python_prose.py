"""The English text of every Python installation, as documents of sentences.

    pydoc_data.topics   Assert statements are ...   one document per topic
    docstrings of the standard library       one document per module

        --paragraphs--> prose only: no code, tables, grammar or headings
        --sentences-->  ["Assert statements are a convenient way to ...", ...], each one once

No module is imported for its docstrings: the source is parsed, so nothing of it runs.

    python -m examples.demo.python_prose corpus.txt     writes all documents, a sentence a line
"""

import ast
import functools
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from pydoc_data import topics

_SKIPPED_FOLDERS = {"site-packages", "dist-packages", "test", "tests", "lib2to3", "idlelib"}
_PARAGRAPH_BREAK = re.compile(r"\n[ \t]*\n")
_LIST_MARK = re.compile(r"^\s*(?:[*\-+o]|\d+[.)]|\[\d+\])\s+")
_MARKUP = re.compile(r"[`*|]+|:[a-z]+:(?=`)")
_NOT_PROSE = re.compile(r"^\s*(?:>>>|\.\.\s|\.\.\.|[A-Za-z_]+ +::=|[=*~^\-]{3,}|@|:param|\$)")
# A full stop ends a sentence when a capital (or a quote or bracket before it) follows, unless it
# belongs to an abbreviation.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|cf|vs|Mr|Dr|St|No|pp?|Inc|al)|\b[A-Z])\.$")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?$")


@functools.cache
def read_documents() -> list[list[str]]:
    """Return the documents, each a list of at least two sentences; no sentence occurs twice.

    They are read once, so a caller must not change them.
    """
    seen: set[str] = set()
    documents = []
    for texts in (*_topic_texts(), *_docstring_texts()):
        document = []
        for sentence in split_sentences(texts):
            if sentence.lower() not in seen:
                seen.add(sentence.lower())
                document.append(sentence)
        if len(document) >= 2:
            documents.append(document)
    return documents


def split_documents(
    documents: list[list[str]], *, held_out_every: int
) -> tuple[list[list[str]], list[list[str]]]:
    """Return (documents to train on, documents to evaluate on: every `held_out_every`-th)."""
    held_out = documents[held_out_every - 1 :: held_out_every]
    train = [d for i, d in enumerate(documents) if i % held_out_every != held_out_every - 1]
    return train, held_out


def write_documents(path: Path, documents: Iterable[list[str]]) -> None:
    """Write one sentence per line and a blank line after each document."""
    text = "".join("\n".join(document) + "\n\n" for document in documents)
    path.write_text(text, encoding="utf-8")


def _topic_texts() -> Iterator[list[str]]:
    for name in sorted(topics.topics):
        yield [topics.topics[name]]


def _docstring_texts() -> Iterator[list[str]]:
    """Yield the docstrings of each module of the standard library, outer ones first."""
    top = Path(sysconfig.get_path("stdlib"))
    for path in sorted(top.rglob("*.py")):
        if _SKIPPED_FOLDERS & set(path.relative_to(top).parts):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # old source may hold invalid escapes
                tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        yield [docstring for node in ast.walk(tree) if (docstring := _docstring(node))]


def _docstring(node: ast.AST) -> str | None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ast.get_docstring(node)
    return None


def split_sentences(texts: Iterable[str]) -> Iterator[str]:
    """Yield the sentences of prose in texts with reStructuredText."""
    for text in texts:
        for paragraph in _PARAGRAPH_BREAK.split(text):
            lines = paragraph.splitlines()
            if not any(_NOT_PROSE.match(line) for line in lines):
                prose = " ".join(_LIST_MARK.sub("", line) for line in lines)
                yield from filter(_is_prose, _split_sentences(" ".join(prose.split())))


def _split_sentences(prose: str) -> Iterator[str]:
    """Splits a paragraph on one line; "e.g." and initials end no sentence."""
    prose = _MARKUP.sub("", prose)
    start = 0
    for match in _SENTENCE_END.finditer(prose):
        if not _ABBREVIATION.search(prose, start, match.start()):
            yield prose[start : match.end()].strip()
            start = match.end()
    yield prose[start:].strip()


def _is_prose(sentence: str) -> bool:
    """Whether a text begins and ends like a sentence and consists mostly of words."""
    words = sentence.split()
    plain = sum(bool(_WORD.match(word.strip(".,;:!?\"'()"))) for word in words)
    return (
        5 <= len(words) <= 80
        and sentence[0] in "\"'(" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        and sentence.rstrip("\"')")[-1:] in (".", "!", "?", ":")
        and plain >= 0.75 * len(words)
    )


def main(arguments: list[str]) -> None:
    """Write the documents to the file that the command line names."""
    if len(arguments) != 1:
        sys.exit("usage: python -m examples.demo.python_prose FILE")
    documents = read_documents()
    write_documents(Path(arguments[0]), documents)
    print(f"{arguments[0]}: {len(documents)} documents, {sum(map(len, documents)):,} sentences")


if __name__ == "__main__":
    main(sys.argv[1:])
