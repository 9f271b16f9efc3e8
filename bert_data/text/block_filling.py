"""Fill blocks of documents with what a file holds, and keep what precedes damage.

items of a file --add--> DocumentBlock of some 2 million characters, DocumentBlock, ...
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from bert_data.errors import CorruptDataError
from bert_data.storage import file_size
from bert_data.text.compression import DAMAGE
from bert_data.text.documents import DocumentBlock

BLOCK_CHARACTERS = 2 << 20

Item = TypeVar("Item")


def fill_blocks(
    path: str,
    items: Iterable[Item],
    add: Callable[[DocumentBlock, int, Item], int],
    *,
    position: Callable[[], int] | None = None,
    start: int = 0,
) -> Iterator[DocumentBlock]:
    """Yield the documents of a file in blocks; the last one may have none.

    Args:
      items: what it holds: records, pages, members of an archive.
      add: adds the document of an item, if it has one, to a block, given the item's number from 1,
        and returns its characters.
      position: how far the file has been read. None: nobody knows before its end.

    Raises:
      CorruptDataError, DAMAGE: as `items` do; after a block with what precedes the damage.
    """
    block, num_characters = DocumentBlock(path=path), 0
    try:
        for number, item in enumerate(items, 1):
            block.num_rows += 1
            num_characters += add(block, number, item)
            if num_characters >= BLOCK_CHARACTERS:
                if position is not None:
                    before, start = start, position()
                    block.num_file_bytes = start - before
                yield block
                block, num_characters = DocumentBlock(path=path), 0
    except (CorruptDataError, *DAMAGE):
        yield block
        raise
    block.num_file_bytes = (file_size(path) if position is None else position()) - start
    yield block
