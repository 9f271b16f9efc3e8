"""Folders that a command has written: only these are replaced, and only with nothing else in them.

note_product(partial, "export-hub")           encoder/bert_data.json, which lists what is there
refuse_foreign("hub/encoder", "export-hub")   raises if there is no list, or anything beside it
"""

import errno
import json
import os
from collections.abc import Iterator

from bert_data.errors import CorruptDataError
from bert_data.storage.json_files import JsonObject
from bert_data.storage.paths import is_remote
from bert_data.storage.statuses import file_sizes, list_folder

PRODUCT_LIST = "bert_data.json"
"""Name of the list in the folder."""
_HAND = "remove it yourself, or choose another name"


def note_product(folder: str, maker: str) -> None:
    """Write the list of all that is in a finished local folder.

    Args:
      maker: the command that has made it.
    """
    path = os.path.join(folder, PRODUCT_LIST)
    entries = sorted({*_entries(folder), PRODUCT_LIST})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"made_by": maker, "files": entries}, file, indent=1)
        file.write("\n")


def refuse_foreign(folder: str, maker: str) -> None:
    """Refuse to replace a folder that a command has not made, or in which something else lies.

    An empty folder may be replaced.

    Raises:
      FileExistsError: the folder stays; the error names it and what is foreign there.
    """
    entries = set(_entries(folder))
    if not entries:
        return
    try:
        note = JsonObject.read(os.path.join(folder, PRODUCT_LIST))
        made_by, listed = note.take("made_by", str), note.take("files", list)
    except (OSError, CorruptDataError):
        reason = f"was not made by {maker} (it has no {PRODUCT_LIST}); {_HAND}"
        raise FileExistsError(errno.EEXIST, reason, folder) from None
    if made_by != maker:
        reason = f"was made by {made_by}, not by {maker}; {_HAND}"
        raise FileExistsError(errno.EEXIST, reason, folder)
    if foreign := sorted(entries.difference(map(str, listed))):
        reason = f"holds {foreign[0]!r}, which {maker} has not written; {_HAND}"
        raise FileExistsError(errno.EEXIST, reason, folder)


def _entries(folder: str) -> Iterator[str]:
    """Yield the paths inside a folder, of files and links, and of folders with a slash at the end.

    Raises:
      OSError: a folder cannot be listed.
    """
    if is_remote(folder):
        yield from file_sizes(folder)
        return
    for name in list_folder(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            yield f"{name}/"
            yield from (f"{name}/{inner}" for inner in _entries(path))
        else:
            yield name
