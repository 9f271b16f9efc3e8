r"""Papers from arXiv: their LaTeX, cleaned, from archives of sources or from `.tex` files.

    arXiv_src_2401_001.tar                        TextDocument(row 1, "\\section{One} We show ...",
      2401/2401.00001.gz   a paper of one file       {"arxiv_id": "2401.00001", "title": "On ...",
      2401/2401.00002.gz   a .tar.gz of files  ->     "num_files": 1})
      2401/2401.00003.pdf  (no source: left out)   row: the number of the paper in the archive

Several files of a paper are joined where its main file has `\input` and `\include`; without a
main file (one with `\documentclass`), in the order of their names. `latex_markup.py` says what is
cleaned. A `.tex` file by itself is a paper; what it inputs is read from its folder.
"""

import dataclasses
import functools
import gzip
import io
import posixpath
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence

from bert_data.storage import file_size, is_file, is_inside, read_bytes
from bert_data.text.compression import open_bytes
from bert_data.text.corpora.archives import is_archive, read_members
from bert_data.text.corpora.latex_markup import clean_paper, drop_comments
from bert_data.text.documents import DocumentBlock, RowError, Span, fill_blocks
from bert_data.text.text_config import TextConfig

MAX_PAPER_BYTES = 1 << 26
"""The longest source of a paper, and the most that joining its files may make of it."""

_MAX_INPUT_DEPTH = 16
_MAIN = re.compile(r"\\document(?:class|style)\b")
_INPUT = re.compile(r"\\(?:input|include|subfile)\s*(?:\{\s*([^{}\s]+)\s*\}|\s([\w./-]+))")
_ENDINGS = re.compile(r"(?:\.tar|\.tex)?(?:\.gz|\.tgz|\.bz2|\.xz|\.zst|\.zip)?\Z")


_SOURCE_ENDINGS = (".tex", ".ltx", ".latex")

_Read = Callable[[str], "str | None"]
"""Returns a file of a paper by its name in the paper, None if there is none."""


@dataclasses.dataclass(frozen=True)
class _Paper:
    """A paper's name, and its files by their names; or why it cannot be read."""

    name: str
    files: dict[str, str]
    problem: str = ""


def read(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield papers."""
    for span in spans:
        add = functools.partial(_add_paper, span.path, config)
        yield from fill_blocks(span.path, _papers(span.path), add)


def _add_paper(path: str, config: TextConfig, block: DocumentBlock, row: int, paper: _Paper) -> int:
    num_bytes = sum(len(text.encode()) for text in paper.files.values())
    if block.drops(row, num_bytes, config):
        return 0
    try:
        if paper.problem:
            raise RowError(f"{paper.name}: {paper.problem}")
        source = _join(paper, path)
    except RowError as error:
        block.skip(row, error, config)
        return 0
    body, title, num_left = clean_paper(source)
    if body:
        fields = {"arxiv_id": paper.name, "num_files": len(paper.files), "title": title}
        block.add(row, body, fields, config)
    if body and num_left:
        block.left_out["expansions of LaTeX macros"] += num_left
    return len(source)


def _papers(path: str) -> Iterator[_Paper]:
    if not is_archive(path):
        with open_bytes(path) as (text, _):
            data = text.read(MAX_PAPER_BYTES + 1)
        name = posixpath.basename(path)
        yield _Paper(_identifier(name), {name: _decode(data)}, _too_long(data))
        return
    loose: dict[str, str] = {}  # files that are not packed by paper belong to one
    for member in read_members(path):
        name = member.name.lower()
        if name.endswith((".gz", ".tgz", ".tar")):
            yield _unpack(member.name, member.read(MAX_PAPER_BYTES + 1))
        elif name.endswith(_SOURCE_ENDINGS):
            loose[member.name] = _decode(member.read(MAX_PAPER_BYTES + 1))
    if loose:
        problem = _too_long("".join(loose.values()))
        yield _Paper(_identifier(posixpath.basename(path)), loose, problem)


def _unpack(name: str, data: bytes) -> _Paper:
    """Return the paper in a member of an archive: gzip of a file, or a tar archive of files."""
    paper = _identifier(name)
    try:
        if name.lower().endswith(("gz", "tgz")):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(MAX_PAPER_BYTES + 1)
        if problem := _too_long(data):
            return _Paper(paper, {}, problem)
        try:
            archive = tarfile.TarFile(fileobj=io.BytesIO(data))  # not compressed again
        except tarfile.ReadError:
            text = _decode(data)
            return _Paper(paper, {"main.tex": text} if "\\" in text else {})
        with archive:
            files = dict(_sources(archive))
        return _Paper(paper, files, _too_long("".join(files.values())))
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        return _Paper(paper, {}, f"the paper's archive is damaged ({error})")


def _sources(archive: tarfile.TarFile) -> Iterator[tuple[str, str]]:
    """Yield the source files of a paper, up to the first that makes it too long."""
    num_left = MAX_PAPER_BYTES + 1
    for info in archive:
        file = archive.extractfile(info) if info.isfile() else None
        if file is not None and info.name.lower().endswith(_SOURCE_ENDINGS):
            data = file.read(num_left)
            num_left -= len(data)
            yield posixpath.normpath(info.name), _decode(data)


def _too_long(data: bytes | str) -> str:
    long = len(data) > MAX_PAPER_BYTES
    return f"a paper has more than {MAX_PAPER_BYTES:,} bytes" if long else ""


def _identifier(name: str) -> str:
    """Return the arXiv's name of a paper: "2401/2401.00001.gz" is "2401.00001"."""
    return _ENDINGS.sub("", posixpath.basename(name))


def _decode(data: bytes) -> str:
    """Return a file's text: UTF-8, or Latin-1, as older papers are."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _join(paper: _Paper, path: str) -> str:
    """Return the source of a paper as one text.

    Raises:
      RowError: joining makes it longer than `MAX_PAPER_BYTES`.
    """
    mains = [name for name, text in paper.files.items() if _MAIN.search(drop_comments(text))]
    if not mains:
        return "\n".join(paper.files[name] for name in sorted(paper.files))
    # Of several, the one that holds or inputs most is the paper; others are figures or letters.
    read = functools.partial(_read, paper.files, path)
    return max((_Joining(read).join(name) for name in sorted(mains)), key=len)


def _read(files: dict[str, str], path: str, name: str) -> str | None:
    """Return a file of a paper; of a paper that is not in an archive, from its folder."""
    name = posixpath.normpath(name)
    for candidate in (name, f"{name}.tex"):
        if candidate in files:
            return files[candidate]
        if not is_archive(path) and not candidate.startswith(("/", "../")):
            place = posixpath.join(posixpath.dirname(path), candidate)
            is_own = is_file(place) and is_inside(place, posixpath.dirname(path))
            if is_own and file_size(place) <= MAX_PAPER_BYTES:
                return _decode(read_bytes(place))
    return None


def _stem(name: str) -> str:
    """Return the name by which `\\input` means a file: without its `.tex`."""
    return posixpath.normpath(name).removesuffix(".tex")


class _Joining:
    def __init__(self, read: _Read) -> None:
        self._read = read
        self._open: list[str] = []  # files that are being joined: TeX would never end
        self._characters_left = MAX_PAPER_BYTES

    def join(self, name: str) -> str:
        self._open = [_stem(name)]
        return self._join(self._read(name) or "", posixpath.dirname(name))

    def _join(self, text: str, folder: str) -> str:
        text = drop_comments(text)
        self._characters_left -= len(text)
        if self._characters_left < 0:
            raise RowError(f"its files, joined, have more than {MAX_PAPER_BYTES:,} bytes")
        if len(self._open) > _MAX_INPUT_DEPTH:
            return text
        pieces: list[str] = []
        position = 0
        for match in _INPUT.finditer(text):
            name = posixpath.join(folder, match[1] or match[2])
            file = "" if _stem(name) in self._open else self._read(name)
            if file is not None:
                self._open.append(_stem(name))
                pieces += [text[position : match.start()], self._join(file, folder)]
                self._open.pop()
                position = match.end()
        return "".join([*pieces, text[position:]])
