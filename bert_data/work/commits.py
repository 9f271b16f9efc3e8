"""What a run left that was killed at its very end: when it started again, it must know its output.

note_commit(folder, manifest)         in the work folder, before the output gets its names
finish_removal(parent, is_own=True)   in the next run: a work folder may be half removed
has_committed(parent, run, path)      whether `path`, the file written last, is the noted one
"""

import os

from bert_data.storage import (
    is_file,
    make_folder,
    read_bytes,
    remove_abandoned,
    remove_if_empty,
    write_bytes,
)

_NOTE = ("committed", "last_file")  # in a work folder


def note_commit(folder: str, data: bytes) -> None:
    """Note in a work folder what the last file holds that the run is about to give its name."""
    make_folder(os.path.join(folder, _NOTE[0]))
    write_bytes(os.path.join(folder, *_NOTE), data)


def has_committed(parent: str, fingerprint: str, path: str) -> bool:
    """Return whether a file is the last one of a run, which was killed after it was committed.

    For the first two arguments see `open_work_folder`.
    """
    note = os.path.join(parent, fingerprint, *_NOTE)
    return is_file(note) and is_file(path) and read_bytes(note) == read_bytes(path)


def finish_removal(parent: str, *, is_own: bool) -> None:
    """Remove what a run was removing when it was killed: folders, and the parent if it is own."""
    remove_abandoned(parent)
    if is_own:
        remove_if_empty(parent)
