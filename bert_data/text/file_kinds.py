"""The kind of a file by its first bytes: "a PNG image", and for text "".

Readers of text ask before they decode anything, so that no advice about encodings, and no tokens,
come of bytes that are not text.
"""

import codecs
import json
import re
from typing import NamedTuple

from bert_data.errors import CorruptDataError
from bert_data.text import ARC_ADVICE

HEAD_BYTES = 4096
"""Bytes of a file that are enough to say what it is."""

JSON_BYTES = 1 << 16
"""Bytes of a text that are enough to say whether all of it is JSON."""

JSON_LINES, _ARRAY = "JSON Lines", "a JSON array"

_DECOMPRESS = "decompress it first"
_EXTRACT = "extract its text first"
_CONVERT = "write its texts as Parquet or JSON Lines first"
_LEAST_BYTES = 256  # from which on shares say something
_MOST_NULS, _MOST_CONTROLS, _MOST_ZEROS = 0.2, 0.05, 0.9
_CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\b\x1b"})


class _Kind(NamedTuple):
    """A kind of file: bytes at an offset, what it is, and what to do with it."""

    name: str
    magic: bytes
    advice: str = ""
    offset: int = 0

    def describe(self) -> str:
        return f"{self.name}; {self.advice}" if self.advice else self.name


_ZIP, _ZIP_BYTES = b"PK\x03\x04", 200
_KINDS_OF_ZIP = (("a NumPy archive (.npz)", b".npy"), ("a PyTorch file", b"/data.pkl"))
# The first one that fits counts. Magic of letters, which a text in Latin-1 could begin with, needs
# control bytes after it.
_KINDS = (
    _Kind("a Parquet file", b"PAR1", "`input_format=parquet` reads it"),
    _Kind("an encrypted Parquet file", b"PARE", "decrypt it first"),
    _Kind("an Arrow file", b"ARROW1\0\0", _CONVERT),
    _Kind("an Arrow stream", b"\xff\xff\xff\xff", _CONVERT),
    _Kind("a Feather file", b"FEA1", _CONVERT),
    _Kind("an ORC file", b"ORC", _CONVERT),
    _Kind("an Avro file", b"Obj\x01", _CONVERT),
    _Kind("the index of a token store", b"MMIDIDX\0\0", "name the store's text instead"),
    _Kind("gzip data", b"\x1f\x8b", "add .gz to its name, and it is decompressed"),
    _Kind("zstd data", b"\x28\xb5\x2f\xfd", "add .zst to its name, and it is decompressed"),
    _Kind("bzip2 data", b"BZh", "add .bz2 to its name, and it is decompressed"),
    _Kind("xz data", b"\xfd7zXZ\0", "add .xz to its name, and it is decompressed"),
    _Kind("LZ4 data", b"\x04\x22\x4d\x18", _DECOMPRESS),
    _Kind("a 7-Zip archive", b"7z\xbc\xaf\x27\x1c", _DECOMPRESS),
    _Kind("a RAR archive", b"Rar!\x1a\x07", _DECOMPRESS),
    _Kind("a tar archive", b"ustar", "unpack it first", 257),
    _Kind("an EPUB book", b"mimetypeapplication/epub", "`input_format=epub` reads it", 30),
    _Kind("an OpenDocument file", b"mimetypeapplication/vnd.oasis", _EXTRACT, 30),
    _Kind("an Office document", b"[Content_Types].xml", _EXTRACT, 30),
    _Kind("a zip archive", _ZIP, "unpack it first"),
    _Kind("an empty zip archive", b"PK\x05\x06"),
    _Kind("a PDF file", b"%PDF-", _EXTRACT),
    _Kind("a PostScript file", b"%!PS", _EXTRACT),
    _Kind("an RTF document", b"{\\rtf", _EXTRACT),
    _Kind("an old Office document", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _EXTRACT),
    _Kind("a WARC archive", b"WARC/1.", "curate reads it with `input_format=warc`"),
    _Kind("an ARC archive", b"filedesc://", ARC_ADVICE),
    _Kind("a NumPy array", b"\x93NUMPY"),
    _Kind("an HDF5 file", b"\x89HDF\r\n\x1a\n"),
    _Kind("an SQLite database", b"SQLite format 3\0", _CONVERT),
    _Kind("a GGUF model", b"GGUF"),
    _Kind("a safetensors file", b'{"', offset=8),
    _Kind("a fastText model", b"\xba\x16\x4f\x2f\x0c\0\0\0"),
    _Kind("a pickle of Python", b"\x80\x02"),
    _Kind("a pickle of Python", b"\x80\x03"),
    _Kind("a pickle of Python", b"\x80\x04\x95"),
    _Kind("a pickle of Python", b"\x80\x05\x95"),
    _Kind("a PNG image", b"\x89PNG\r\n\x1a\n"),
    _Kind("a JPEG image", b"\xff\xd8\xff"),
    _Kind("a GIF image", b"GIF8"),
    _Kind("a TIFF image", b"II*\0"),
    _Kind("a TIFF image", b"MM\0*"),
    _Kind("a BMP image", b"BM"),
    _Kind("a WebP image", b"WEBP", offset=8),
    _Kind("a WAVE sound", b"WAVE", offset=8),
    _Kind("an AVI film", b"AVI ", offset=8),
    _Kind("an MP4 film", b"ftyp", offset=4),
    _Kind("an MP3 sound", b"ID3"),
    _Kind("an Ogg sound", b"OggS\0"),
    _Kind("a FLAC sound", b"fLaC"),
    _Kind("a Matroska film", b"\x1a\x45\xdf\xa3"),
    _Kind("a program", b"\x7fELF"),
    _Kind("a program", b"MZ"),
    _Kind("WebAssembly", b"\0asm"),
)  # fmt: skip
_NEVER_TEXT = (
    b"%PDF-",
    b"%!PS",
    b"{\\rtf",
    b"WARC/1.",
    b"filedesc://",
)  # although their first bytes are text
_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_PAGE = re.compile(
    rb"\s*(<!--.*?-->\s*)?<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_XML = re.compile(rb"\s*<(\?xml|mediawiki|posts)\b")
# Tokens of JSON; no word or mark of prose or code is one.
_JSON = re.compile(
    rb'(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|[\s\[\]{},:]|-?\d[\d.eE+-]*+'
    rb"|true|false|null|NaN|-?Infinity)*+"
)
_CUT_LITERAL = re.compile(rb"[-+.\w]++\Z")


def binary_kind(head: bytes) -> str:
    """Return what a file that is not text is, and what to do with it; "" if it may be text."""
    has_controls = _count_controls(head) > 0
    is_binary = has_controls or not _is_utf8(head)
    if head.startswith(_ZIP):
        for name, sign in _KINDS_OF_ZIP:
            if sign in head[:_ZIP_BYTES]:
                return name
    for kind in _KINDS:
        is_proof = has_controls if kind.magic.isascii() else is_binary
        if head.startswith(kind.magic, kind.offset) and (is_proof or kind.magic in _NEVER_TEXT):
            return kind.describe()
    if _is_tfrecord(head):
        return "a TFRecord file; name the text that its records were made of"
    if len(head) < _LEAST_BYTES or wide_encoding(head):
        return ""
    if head.count(b"\0") > _MOST_NULS * len(head) or (
        _count_controls(head) > _MOST_CONTROLS * len(head) and not _is_utf8(head)
    ):
        return "a binary file of unknown kind (the .bin of a token store begins so)"
    return ""


def wide_encoding(head: bytes) -> str:
    """Return the name of UTF-16 or UTF-32 if a text is in it, by its mark or many zeros; or ""."""
    for mark, name in _ENCODINGS:
        if head.startswith(mark):
            return name
    even, odd = head[::2], head[1::2]
    for letters, zeros, name in ((even, odd, "UTF-16LE"), (odd, even, "UTF-16BE")):
        is_long = len(head) >= _LEAST_BYTES
        if is_long and b"\0" not in letters and zeros.count(b"\0") > _MOST_ZEROS * len(zeros):
            return name
    return ""


def refuse_binary(path: str, head: bytes, *, is_decompressed: bool = False) -> None:
    """Refuse a file that is not text in UTF-8; its first bytes may be what it holds compressed."""
    verb = "holds" if is_decompressed else "is"
    if kind := binary_kind(head):
        name, mark, advice = kind.partition("; ")
        raise CorruptDataError(path, 0, f"it {verb} {name}, not text{mark}{advice}")
    if encoding := wide_encoding(head):
        advice = f"convert it to UTF-8 first (iconv -f {encoding} -t UTF-8)"
        raise CorruptDataError(path, 0, f"it {verb} text in {encoding}; {advice}")


def markup_kind(head: bytes) -> str:
    """Return what kind of markup a file of text begins with: "HTML", "XML" or ""."""
    if _PAGE.match(head):
        return "HTML"
    return "XML" if _XML.match(head) else ""


def json_kind(head: bytes) -> str:
    """Return what a text of nothing but JSON is, by its first `JSON_BYTES`; or ""."""
    text = _stripped(head)
    if not text.startswith((b"{", b"[")) or b'"' not in text:
        return ""
    ways_to_end = [text]
    if len(head) == JSON_BYTES:  # cut, maybe within a string or another literal
        ways_to_end += [text.rstrip(b"\\") + b'"', _CUT_LITERAL.sub(b"", text)]
    if not any(map(_JSON.fullmatch, ways_to_end)):
        return ""
    if _begins_with_row(text):
        return JSON_LINES
    return _ARRAY if text.startswith(b"[") else "a JSON object of several lines"


def refuse_json(path: str, head: bytes) -> None:
    """Refuse a text that is JSON, by its first `JSON_BYTES`."""
    refuse_nested_rows(path, head)
    if json_kind(head):
        advice = "`input_format=jsonl` reads it, and `input_format=lines` takes it as text"
        raise CorruptDataError(path, 0, f"it is {JSON_LINES}, not text; {advice}")


def refuse_nested_rows(path: str, head: bytes) -> None:
    """Refuse an array of rows, or rows of several lines, by its first `JSON_BYTES`."""
    if _begins_with_row(_stripped(head)):
        return
    if kind := json_kind(head):
        rows = ".[]" if kind == _ARRAY else "."
        advice = f"write a line for each object first (jq -c '{rows}' FILE > FILE.jsonl)"
        raise CorruptDataError(path, 0, f"it is {kind}, not {JSON_LINES}; {advice}")


def _stripped(head: bytes) -> bytes:
    return head.removeprefix(codecs.BOM_UTF8).strip()


def _begins_with_row(text: bytes) -> bool:
    """Whether the first line is a row, if the text is JSON; the row may be damaged or cut."""
    first, _, others = text.partition(b"\n")
    if text.startswith(b"{") and others.lstrip()[:1] in (b"", b"{"):
        return True
    if not others:
        return False
    try:
        json.loads(first.decode(errors="replace"))
    except json.JSONDecodeError as error:
        return error.pos < len(error.doc.rstrip())
    except (RecursionError, ValueError):  # also of a number with too many digits
        pass
    return True


def _count_controls(head: bytes) -> int:
    return len(head) - len(head.translate(None, _CONTROLS))


def _is_utf8(head: bytes) -> bool:
    """Whether bytes are UTF-8, apart from a character that is cut at their end."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _is_tfrecord(head: bytes) -> bool:
    if head[4:8] != bytes(4):  # of a length below 2**32
        return False
    from bert_data.kernels.crc32c import is_frame  # loads llvmlite, which text does not need

    return is_frame(head)
