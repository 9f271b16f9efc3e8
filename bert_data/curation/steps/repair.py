"""Repair texts: wrong encodings, entities, control characters, composition, white space."""

import functools
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, Literal

from bert_data.curation.document import Document, Verdict
from bert_data.curation.step import DocumentStep, register
from bert_data.packages import load_package

_ENTITY = re.compile(r"&(?:#\w|[A-Za-z])\w{1,30}+;")
_HIGH_CONTROLS = re.compile("[\x80-\x9f]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_ESCAPE = re.compile("\x1b\\[[0-9;]{0,32}[A-Za-z]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f\u206a-\u206f\ufeff\ufff9-\ufffc]+")
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u206a-\u206f\ufeff\ufff9-\ufffc]")
_OTHER_SPACE = re.compile(r"[^\S\n\t ]")
_SPACES = re.compile(r"(?: [^\S\n]|[^\S\n ])[^\S\n]*+")
_NO_BREAK_SPACES = dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " ")
_BLANK_LINES = re.compile(r"\n{3,}")


@register
class Repair(DocumentStep):
    r"""Repairs encoding errors, entities, control characters and white space; rejects nothing.

    The repairs, in this order: text decoded with the wrong encoding (by ftfy, Speer 2019, line by
    line), HTML entities in texts without tags, line ends, control characters and lone surrogates,
    composition, white space. Full-width letters, ligatures and curly quotes stay: they are often
    intended, in Chinese for example.

    Attributes:
      encoding: decode UTF-8 that was read in another encoding ("Ã©"), and C1 controls as
        windows-1252.
      entities: turn "&amp;" into "&" in texts without "<".
      controls: remove control characters, terminal escapes and invisible marks that have no
        function; normalize line ends to "\n"; join surrogate pairs, and replace lone surrogates by
        U+FFFD (`encoding_errors=replace` does so for JSON, where they are errors).
      normalization: NFC, NFKC, NFD, NFKD, or "" for none.
      whitespace: remove white space at the ends of lines, blank lines at both ends of the text and
        all but one between others, and indentation that all lines share. Other spaces and tabs
        stay, as code, tables and verse need them. A run of other white space becomes one space; at
        the start of a line, each no-break space becomes a space and the rest is removed.
    """

    name = "repair"
    accepts_markup = True
    encoding: bool = True
    entities: bool = True
    controls: bool = True
    normalization: Literal["NFC", "NFKC", "NFD", "NFKD", ""] = "NFC"
    whitespace: bool = True

    step_examples = (
        ("l’Ã©tÃ© â€œ2024â€\x9d", "l’été “2024”"),
        ("Salt &amp; pepper\r\n\x00and\u00a0\u00a0time ", "Salt & pepper\nand time"),
        ("  if a:\n      b()  # c \n\n\n\n  d", "if a:\n    b()  # c\n\nd"),
        ("全角，文本。“引号”", "全角，文本。“引号”"),
    )

    def judge(self, document: Document) -> Verdict:
        edits: dict[str, int] = {}
        text = document.text
        if self.controls:
            text = _mend_surrogates(text, edits)
        is_odd = _ODD.search(text) is not None
        if self.encoding:
            text = _mend_encoding(text, edits, with_controls=is_odd)
            is_odd = is_odd or (bool(edits) and _ODD.search(text) is not None)
        if self.entities and "&" in text and "<" not in text and _ENTITY.search(text):
            unescape = load_package("ftfy.fixes", "it").unescape_html
            text = _replace(_ENTITY, lambda match: unescape(match[0]), text, "entities", edits)
            is_odd = is_odd or _ODD.search(text) is not None
        if self.controls and is_odd:
            text = _replace(_LINE_ENDS, "\n", text, "line_ends", edits)
            text = _replace(_ESCAPE, "", text, "controls", edits)
            text = _replace(_CONTROLS, "", text, "controls", edits)
        form: Any = self.normalization
        if form and not unicodedata.is_normalized(form, text):
            text = unicodedata.normalize(form, text)
            edits["normalized"] = 1
        if self.whitespace:
            text = _tidy(text, edits)
        return Verdict(document.with_text(text), edits=edits)


def _mend_surrogates(text: str, edits: dict[str, int]) -> str:
    if text.isascii() or _SURROGATES.search(text) is None:
        return text
    pairs, num_pairs = _PAIR.subn(
        lambda match: match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text
    )
    text, num_halves = _SURROGATES.subn("\ufffd", pairs)
    edits["surrogates"] = num_pairs + num_halves
    return text


def _mend_encoding(text: str, edits: dict[str, int], *, with_controls: bool) -> str:
    while True:
        text, num_lines = fix_mojibake(text)
        if num_lines:
            edits["mojibake"] = edits.get("mojibake", 0) + num_lines
        before = text
        if (with_controls or num_lines) and not text.isascii():
            text = _replace(_HIGH_CONTROLS, _as_windows_1252, text, "c1_controls", edits)
        if text == before:  # what replaced controls may be half of another sequence
            return text


def _as_windows_1252(match: re.Match[str]) -> str:
    """C1 controls as the characters that browsers show for them, where there are any."""
    return match[0].encode("latin-1").decode("cp1252", "ignore")


def _replace(
    pattern: re.Pattern[str],
    by: str | Callable[[re.Match[str]], str],
    text: str,
    edit: str,
    edits: dict[str, int],
) -> str:
    text, num_places = pattern.subn(by, text)
    if num_places:
        edits[edit] = edits.get(edit, 0) + num_places
    return text


def _tidy(text: str, edits: dict[str, int]) -> str:
    before = text
    if _OTHER_SPACE.search(text) is not None:
        text = _SPACES.sub(_plain_spaces, text)
    if " \n" in text or "\t\n" in text:
        text = "\n".join(map(str.rstrip, text.split("\n")))
    if "\n\n\n" in text:
        text = _BLANK_LINES.sub("\n\n", text)
    text = text.rstrip().lstrip("\n")
    if text.startswith((" ", "\t")):
        text = textwrap.dedent(text)
    if text != before:
        edits["whitespace"] = 1
    return text


def _plain_spaces(run: re.Match[str]) -> str:
    """Return a run of white space in a line as spaces and tabs."""
    spaces = run[0]
    if _OTHER_SPACE.search(spaces) is None:
        return spaces
    if run.start() and run.string[run.start() - 1] != "\n":
        return " "
    return _OTHER_SPACE.sub("", spaces.translate(_NO_BREAK_SPACES))


_FIRST_BYTES = bytes(range(0xC2, 0xF5))
_OTHER_BYTES = bytes(range(0x80, 0xC0))
# What ftfy accepts for a lost byte of a sequence: a replacement character, or a no-break space
# that became a space.
_LOST_BYTES = "\x1a\ufffd"
_FIRST_BEFORE_SPACE = "ÂÃ"
_MAX_LINE_CHARACTERS = 100_000


def fix_mojibake(text: str) -> tuple[str, int]:
    """Decode lines that are UTF-8 read as another encoding.

    Returns:
      The text, and the number of lines that changed.
    """
    pairs = _pairs()
    if text.isascii() or pairs.search(text) is None:
        return text, 0
    fix_encoding = load_package("ftfy", "it").fix_encoding
    # ftfy also examines the "\n" after a line.
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    num_changed = 0
    for number, line in enumerate(lines):
        if line.isascii() or pairs.search(line) is None:
            continue
        fixed = "".join(map(fix_encoding, _cut(line)))
        if fixed != line:
            lines[number] = fixed
            num_changed += 1
    return ("".join(lines) if num_changed else text), num_changed


def _cut(line: str) -> Iterator[str]:
    """Yield parts of a line of bounded length, cut after spaces where there are any."""
    start = 0
    while len(line) - start > _MAX_LINE_CHARACTERS:
        end = line.rfind(" ", start, start + _MAX_LINE_CHARACTERS) + 1
        end = end or start + _MAX_LINE_CHARACTERS
        yield line[start:end]
        start = end
    yield line[start:]


@functools.cache
def _pairs() -> re.Pattern[str]:
    """Compile an expression for a possible first byte followed by a possible later byte."""
    encodings = load_package("ftfy.chardata", "it").CHARMAP_ENCODINGS
    first = {char for each in encodings for char in _FIRST_BYTES.decode(each, "ignore")}
    other = {char for each in encodings for char in _OTHER_BYTES.decode(each, "ignore")}
    return re.compile(
        f"[{_in_class(first)}](?:[{_in_class(other)}{_LOST_BYTES}]|(?<=[{_FIRST_BEFORE_SPACE}]) )"
    )


def _in_class(chars: set[str]) -> str:
    return "".join(map(re.escape, sorted(chars)))
