r"""The tokens in the lines of a vocabulary file, as google-research/bert reads it.

    b"[PAD]\n[UNK]\nwalk\n##ing\n"  -->  {"[PAD]": 0, "[UNK]": 1, "walk": 2, "##ing": 3}

Lines end at "\n" only, every "\r" is dropped, and so is white space around a token. A token that
occurs twice has the id of its last line, and the place of its first in the order of the dict.
"""

import os

CONTINUATION = "##"
"""What a piece that continues a word begins with."""


def load_vocab(vocab_file: str | os.PathLike[str]) -> dict[str, int]:
    """Reads a vocabulary: one token a line, whose id is the number of the line, from 0.

    Args:
      vocab_file: a local path, or one with a scheme (gs://...) that TensorFlow opens.

    Returns:
      Token -> id, in the order of the file.

    Raises:
      OSError: the file cannot be read.
      UnicodeDecodeError: it is not UTF-8.
    """
    content = read_file(os.fspath(vocab_file))
    return {token: number for number, token in enumerate(stripped_lines(content))}


def read_file(path: str) -> bytes:
    """Returns a file's bytes; TensorFlow opens a path with a scheme (gs://...)."""
    if "://" in path:
        import tensorflow as tf  # only remote files need it

        with tf.io.gfile.GFile(path, "rb") as remote:
            return remote.read()
    with open(path, "rb") as file:
        return file.read()


def stripped_lines(content: bytes) -> list[str]:
    """Returns the lines of a file's bytes, without the white space around each.

    Raises:
      UnicodeDecodeError: the bytes are not UTF-8.
    """
    lines = content.replace(b"\r", b"").decode("utf-8").split("\n")
    if not lines[-1]:  # the empty string after the last line end
        lines.pop()
    return [line.strip() for line in lines]
