"""The stage from text to a token store: files of lines in, PREFIX.bin and PREFIX.idx out.

    files --blocks of lines--> FastTokenizer (one a worker) --in order--> StoreWriter

Blank lines end documents, the ends of files do not, as in google-research/bert.
"""

import dataclasses
import os
from collections.abc import Sequence

from bert_data.engines.threads import ordered_map
from bert_data.progress import progress
from bert_data.text.lines import LineBlock, read_line_blocks
from bert_data.tokens.store import StoreWriter, token_dtype
from bert_data.tokens.tokenizer import FastTokenizer, TokenBlock, UndecodableLineError


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenCounts:
    """What a store was made from.

    Attributes:
      num_bytes: of text, decompressed.
      num_lines: of text, blank ones too.
      num_documents, num_sentences, num_tokens: in the store.
      num_unknown: tokens that are [UNK].
      num_replaced: undecodable places that were replaced or ignored.
    """

    num_bytes: int
    num_lines: int
    num_documents: int
    num_sentences: int
    num_tokens: int
    num_unknown: int
    num_replaced: int


def fill_store(
    paths: Sequence[str],
    tokenizer: FastTokenizer,
    prefix: str,
    *,
    encoding_errors: str = "strict",
    num_workers: int = 1,
) -> TokenCounts:
    """Tokenizes files of lines into a token store.

    Args:
      paths: read in this order; a document may go on in the next file.
      tokenizer: used by all workers at the same time.
      prefix: of the store.
      encoding_errors: "strict", "replace" or "ignore", as in `bytes.decode`.
      num_workers: threads, >= 1. The store does not depend on it.

    Raises:
      ValueError: a line is not UTF-8 and `encoding_errors` is "strict", or there is no sentence.
      OSError, CorruptDataError: a file cannot be read.
    """

    def tokenize(block: LineBlock) -> tuple[LineBlock, TokenBlock | UndecodableLineError]:
        try:
            return block, tokenizer.tokenize_block(block.data, encoding_errors=encoding_errors)
        except UndecodableLineError as error:
            return block, error

    num_bytes = num_lines = num_unknown = num_replaced = 0
    file, lines_in_file = -1, 0
    results = ordered_map(tokenize, read_line_blocks(paths), num_workers=num_workers)
    with (
        StoreWriter(prefix, token_dtype(tokenizer.vocabulary.size)) as writer,
        progress("tokenize", total=sum(map(os.path.getsize, paths)), unit="B") as advance,
    ):
        for block, tokens in results:
            if block.file != file:
                file, lines_in_file = block.file, 0
            if isinstance(tokens, UndecodableLineError):
                raise ValueError(
                    f"{block.path}:{lines_in_file + tokens.line + 1}: not UTF-8 ({tokens.reason}); "
                    "--encoding_errors=replace or ignore reads it all the same"
                )
            writer.add(tokens.ids, tokens.sentence_lengths, tokens.breaks)
            num_bytes += len(block.data)
            lines_in_file += tokens.num_lines
            num_lines += tokens.num_lines
            num_unknown += tokens.num_unknown
            num_replaced += tokens.num_replaced
            advance(block.num_file_bytes)
    if not writer.num_sentences:
        raise ValueError(f"no sentence in the text of {len(paths)} file(s), {paths[0]!r} the first")
    return TokenCounts(
        num_bytes=num_bytes,
        num_lines=num_lines,
        num_documents=writer.num_documents,
        num_sentences=writer.num_sentences,
        num_tokens=writer.num_tokens,
        num_unknown=num_unknown,
        num_replaced=num_replaced,
    )
