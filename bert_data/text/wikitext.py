r"""WikiText as distributed: one paragraph per line, headings between `=`, blank lines.

     = Robert Boulter = \n \n Robert is an actor . \n = = Career = = \n He had a role . \n
       ->  \n \n Robert is an actor . \n\n He had a role . \n

A line that is blank or begins, after white space, with `=` ends a document. Headings are not text:
they become empty lines, so that line numbers stay the same.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence

from bert_data.text.lines import LineBlock, read_bounded_lines
from bert_data.text.spans import Span

# The characters that str.strip removes before the `=`, in UTF-8.
_SPACES = (
    rb"(?:[ \t\r\x0b\x0c\x1c-\x1f]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80)*+"
)
_HEADING = re.compile(rb"\n" + _SPACES + rb"=[^\n]*+")


def read_wikitext_lines(
    spans: Sequence[Span], max_line_bytes: int | None = None
) -> Iterator[LineBlock]:
    """Yield files as blocks of lines, see `read_bounded_lines`; headings become empty lines."""
    for block in read_bounded_lines(spans, max_line_bytes):
        data = _HEADING.sub(b"\n", b"\n" + block.data)[1:]
        yield dataclasses.replace(block, data=data)
