"""One pass over a block of bytes: the kernel, and Python for what the kernel cannot do.

data --blocks.tokenize_lines--> ids, lengths, breaks     until the kernel stops at
  a new code point                   entries.EntryTable fills in its page
  a chunk that tables cannot express the definition tokenizes it
  a line that is not UTF-8           Python's codec decodes it, or the run ends in an error
"""

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens import blocks, chunks
from bert_data.tokens.token_block import UndecodableLineError

if TYPE_CHECKING:
    from bert_data.tokens.tokenizer import FastTokenizer

_ASCII_SPACE = re.compile(rb"[ \t\n\r]")
_LINE_FEED = re.compile(rb"\n")
_REPLACEMENT = "\ufffd"


class BlockRun:
    """One pass of the kernel over a block; Python helps where it stops.

    Attributes:
      ids, lengths, breaks: of the tokens so far, of the largest size possible.
      state: int64, the kernel's counters; `blocks` names them.
      num_replaced: undecodable sequences that were replaced or ignored.
    """

    def __init__(
        self,
        tokenizer: "FastTokenizer",
        data: Any,
        *,
        by_lines: bool,
        encoding_errors: str = "strict",
    ) -> None:
        self.tokenizer = tokenizer
        self.by_lines = by_lines
        self.encoding_errors = encoding_errors
        self.num_replaced = 0
        self.view = memoryview(data)
        self.data = np.frombuffer(data, np.uint8)
        self.data.flags.writeable = False  # one type for the kernel, so that it is compiled once
        size = len(self.data)
        # Pages that are never written take no memory, so these have the largest size possible.
        num_lines = size + 1 if by_lines else 0
        self.ids: NDArray[Any] = np.empty(size + blocks.IDS_A_HIT_WRITES, tokenizer.id_dtype)
        self.lengths = np.empty(num_lines, np.int32)
        self.breaks = np.empty(num_lines, np.int64)
        self.word = np.empty(tokenizer.max_word_letters, np.int32)
        self.state = np.zeros(blocks.STATE_SIZE, np.int64)

    def finish(self) -> None:
        """Tokenize the whole block.

        Raises:
          UndecodableLineError: a line is not UTF-8 and encoding_errors is "strict".
        """
        with self.tokenizer.borrowed_cache() as cache:
            while True:
                status = self._tokenize_lines(cache)
                if status == chunks.DONE:
                    return
                if status == chunks.UNKNOWN_CODE_POINT:
                    self.tokenizer.table.fill_page(int(self.state[blocks.TROUBLE]))
                elif status == chunks.UNUSUAL_CHUNK:
                    self._tokenize_chunk()
                else:
                    self._tokenize_line()

    def _tokenize_lines(self, cache: NDArray[np.uint64]) -> int:
        return blocks.tokenize_lines(
            self.data,
            self.by_lines,
            self.tokenizer.table.entries,
            self.tokenizer.trie,
            self.tokenizer.vocabulary.unk_id,
            cache,
            self.word,
            self.ids,
            self.lengths,
            self.breaks,
            self.state,
        )

    def _tokenize_chunk(self) -> None:
        """Tokenize the chunk at the state's position by the definition."""
        start = int(self.state[blocks.POSITION])
        space = _ASCII_SPACE.search(self.view, start)
        end = space.start() if space else len(self.view)
        try:
            text = bytes(self.view[start:end]).decode()
        except UnicodeDecodeError:
            self._tokenize_line()
        else:
            self._append_ids(self.tokenizer.encode_by_definition(text), end)

    def _tokenize_line(self) -> None:
        """Tokenize the state's line again, without carriage returns and undecodable bytes."""
        state = self.state
        start = int(state[blocks.LINE_START])
        feed = _LINE_FEED.search(self.view, start)
        end = feed.start() if feed else len(self.view)
        content = bytes(self.view[start:end]).replace(b"\r", b"")
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            if self.encoding_errors == "strict":
                raise UndecodableLineError(int(state[blocks.NUM_LINES]), str(error)) from error
            text = content.decode(errors=self.encoding_errors)
            marked = content.decode(errors="replace").count(_REPLACEMENT)
            self.num_replaced += marked - content.count(_REPLACEMENT.encode())
        state[blocks.NUM_IDS] = state[blocks.LINE_IDS]
        ids = self.tokenizer.encode(text)
        self._append_ids(ids, end + 1 if feed else end)
        if ids:
            self.lengths[state[blocks.NUM_SENTENCES]] = len(ids)
            state[blocks.NUM_SENTENCES] += 1
        elif (feed or content) and not text.strip():
            self.breaks[state[blocks.NUM_BREAKS]] = state[blocks.NUM_SENTENCES]
            state[blocks.NUM_BREAKS] += 1
        state[blocks.NUM_LINES] += bool(feed or content)
        state[blocks.LINE_IDS] = state[blocks.NUM_IDS]
        state[blocks.LINE_START] = state[blocks.POSITION]

    def _append_ids(self, ids: list[int], position: int) -> None:
        """Append ids that Python computed, and continue at a position."""
        first = int(self.state[blocks.NUM_IDS])
        end = first + len(ids)
        room = end + len(self.data) - position + blocks.IDS_A_HIT_WRITES
        if room > len(self.ids):  # more ids than bytes: the kernel counts on one id per byte
            self.ids = np.resize(self.ids, room)
        self.ids[first:end] = ids
        self.state[blocks.NUM_IDS] = end
        self.state[blocks.POSITION] = position
