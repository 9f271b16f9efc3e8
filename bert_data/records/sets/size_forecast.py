"""What a set will take on disk, said before it is written.

    about 362.1 MB of records will be written, 23 times the text, and 54.2 MB for a while; 20.1 GB
    are free in data

The first instances, written to memory, say how large a record is; the share of the text that made
them says how many there will be.
"""

import dataclasses
import os

from absl import logging

from bert_data.progress import size
from bert_data.storage import free_bytes

_LARGE_BYTES = 1_000_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class SizeForecast:
    """Says what a set will take.

    Attributes:
      output: a file of the set.
      num_text_bytes, num_store_bytes: of the text that `say` is told about, and of its tokens.
      num_parts: how many texts of this size make the set.
      num_at_once: how many of them are made into instances at a time.
    """

    output: str
    num_text_bytes: int
    num_store_bytes: int
    num_parts: float = 1.0
    num_at_once: int = 1

    def say(self, num_bytes: int, num_spooled: int) -> None:
        """Log the size of the records, and of what is written only for a while."""
        records, spooled = round(num_bytes * self.num_parts), num_spooled * self.num_at_once
        folder = os.path.dirname(self.output)
        free = free_bytes(folder)
        times = num_bytes / max(1, self.num_text_bytes)
        line = (
            f"about {size(records)} of records will be written, {times:.3g} times the text,"
            f" and {size(spooled)} for a while"
        )
        if free is not None:
            line += f"; {size(free)} are free in {folder or 'this folder'}"
        if records >= _LARGE_BYTES:
            store = size(round(self.num_store_bytes * self.num_parts))
            line += f". A recipe (see bert-data train) reads a token store of {store} instead"
        is_too_large = free is not None and records + spooled > free
        logging.log(logging.WARNING if is_too_large else logging.INFO, "%s", line)
