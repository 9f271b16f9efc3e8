"""A set of files as tests write it, and what they find in its folder."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from bert_data.storage import OutputSet


def write_set(
    folder: str | Path,
    text: str,
    *,
    overwrite: bool = False,
    names: Iterable[str] = "ab",
    last: str = "m",
    meanwhile: Callable[[], object] = bool,
    **options: Callable[[], list[str]],
) -> None:
    """Writes one file for each name, then the last, which says what all are.

    Args:
      meanwhile: is called before the files get their names.
      options: of the set.
    """
    paths = [os.path.join(folder, name) for name in (*names, last)]
    with OutputSet(paths[0], paths, reads=[], overwrite=overwrite, **options) as outputs:
        for path in paths:
            with outputs.open(path) as file:
                file.write(text.encode())
        meanwhile()
        outputs.commit(paths[:-1], paths[-1:])


def fail() -> None:
    raise RuntimeError
