r"""The tokens in the lines of a vocabulary file, as google-research/bert reads it.

    b"[PAD]\n[UNK]\nwalk\n##ing\n"  -->  {"[PAD]": 0, "[UNK]": 1, "walk": 2, "##ing": 3}

Lines end only at "\n"; every "\r" and all white space around a token are dropped. A token that
occurs twice has the id of its last line, and the position of its first in the order of the dict.
"""

import os

from bert_data.storage import read_bytes

MAX_VOCAB_SIZE = 10_000_000
"""Far more than any vocabulary has; libraries allocate memory for as many as are asked for."""
CONTINUATION = "##"
"""What a piece that continues a word begins with."""


def load_vocab(vocab_file: str | os.PathLike[str]) -> dict[str, int]:
    """Read a vocabulary: one token per line, whose id is the number of the line, from 0.

    Args:
      vocab_file: a local path, or a URI.

    Returns:
      Token -> id, in the order of the file.

    Raises:
      UnicodeDecodeError: it is not UTF-8.
    """
    content = read_bytes(os.fspath(vocab_file))
    return {token: number for number, token in enumerate(stripped_lines(content))}


def stripped_lines(content: bytes) -> list[str]:
    """Return the lines of a file's bytes, without the white space around each.

    Raises:
      UnicodeDecodeError: the bytes are not UTF-8.
    """
    lines = content.replace(b"\r", b"").decode("utf-8").split("\n")
    if not lines[-1]:  # the empty string after the last line end
        lines.pop()
    return [line.strip() for line in lines]
