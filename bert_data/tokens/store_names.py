"""Names of token stores, as commands take them.

"web", "web.bin", "web.idx"  ->  web
"web@3"                      ->  web-00000-of-00003, web-00001-of-00003, web-00002-of-00003
"parts/*", "parts/*.bin"     ->  parts/a, parts/b
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from bert_data.storage import describe_absence, exists, expand_outputs, glob, side_files

_INDEX = ".idx"
_FILES = (".bin", _INDEX)
_ALL_FILES = (*_FILES, ".store.json")
_PARTITIONED = re.compile(r".+@\d+")


def expand_store(name: str) -> list[str]:
    """Return the prefixes of the stores that a name stands for; they need not exist.

    Raises:
      ValueError: PREFIX@N with an N that is not allowed.
    """
    prefix = name[:-4] if name.endswith(_FILES) else name
    if exists(prefix + _INDEX):
        return [prefix]
    matches = glob(prefix + _INDEX)
    if not matches and _PARTITIONED.fullmatch(prefix):
        return list(expand_outputs(prefix).paths)
    return [match.removesuffix(_INDEX) for match in matches] or [prefix]


@side_files
def _rest_of_stores(paths: Sequence[str]) -> Iterator[str]:
    """Yield the files of the stores to which some files belong."""
    for path in paths:
        for ending in _ALL_FILES:
            if path.endswith(ending):
                yield from (path.removesuffix(ending) + each for each in _ALL_FILES)


def expand_stores(names: Iterable[str]) -> list[str]:
    """Return the prefixes of the stores that some names stand for, see `expand_store`.

    Raises:
      ValueError: PREFIX@N with an N that is not allowed, or of which there is no store.
    """
    prefixes: list[str] = []
    for name in names:
        own = expand_store(name)
        if _PARTITIONED.fullmatch(name) and not any(exists(prefix + _INDEX) for prefix in own):
            raise ValueError(describe_absence(name))
        prefixes += own
    return prefixes


def is_store_name(name: str) -> bool:
    """Whether a name stands for token stores, and not for files of text."""
    if name.endswith(_FILES):
        return True
    if not name or exists(name):
        return False
    return all(path.endswith(_ALL_FILES) for path in glob(name)) and any(
        exists(prefix + _INDEX) for prefix in expand_store(name)
    )


def are_store_names(names: Sequence[str]) -> bool:
    """Whether names stand for token stores, and not for files of text.

    Raises:
      ValueError: some do, but others do not.
    """
    are_stores = list(map(is_store_name, names))
    if any(are_stores) and not all(are_stores):
        store, other = names[are_stores.index(True)], names[are_stores.index(False)]
        raise ValueError(
            f"{store!r} names token stores, but {other!r} does not; name either token stores or"
            " other files, not both"
        )
    return all(are_stores)
