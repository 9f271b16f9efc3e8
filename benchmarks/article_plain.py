r"""The plain way to the data set: a tutorial's method in plain Python, run by article.py.

    python benchmarks/article_plain.py vocab --text=wikitext103.tokens --output=tokenizer.json
    python benchmarks/article_plain.py data --text=wikitext103.tokens --tokenizer=tokenizer.json \
        --output=train.parquet

The method is that of "Preparing Data for BERT Training" (MachineLearningMastery.com), rewritten:
lines that are blank or begin with `=` end a document; each line is tokenized by the tokenizers
library and kept as a list; sentences are collected up to the target length, split at random, and in
half of the cases followed by sentences of another document; pairs are truncated token by token,
padded, and masked; a generator yields one dictionary per example. `--writer=datasets` continues as
the article does, by `Dataset.from_generator` and `to_parquet`; `--writer=pyarrow` writes the
dictionaries directly, a thousand at a time. `--size_once` asks the tokenizer for the size of its
vocabulary once, not for each random word as the article does.
"""

import argparse
import functools
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tokenizers

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")
ROWS_AT_A_TIME = 1000
Document = list[list[int]]


def train(text: str, output: str, vocab_size: int) -> None:
    """A WordPiece tokenizer of the text's lines."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL), show_progress=False
    )
    with open(text, encoding="utf-8") as lines:
        tokenizer.train_from_iterator(lines, trainer)
    tokenizer.enable_padding(pad_id=tokenizer.token_to_id("[PAD]"), pad_token="[PAD]")
    tokenizer.save(output)


def read_documents(text: str, tokenizer: tokenizers.Tokenizer) -> list[Document]:
    documents: list[Document] = [[]]
    with open(text, encoding="utf-8") as lines:
        for line in map(str.strip, lines):
            if not line or line.startswith("="):
                documents.append([])
            else:
                documents[-1].append(tokenizer.encode(line).ids)
    return [document for document in documents if document]


def gather(sentences: Document, room: int) -> list[int]:
    """Sentences one after the other until there are `room` tokens or more."""
    tokens: list[int] = []
    for sentence in sentences:
        if len(tokens) >= room:
            break
        tokens.extend(sentence)
    return tokens


def pairs_of(number: int, documents: list[Document], length: int) -> Iterator[tuple]:
    """(A, B, whether B is from elsewhere) until the document is used up."""
    target = length - 3
    if random.random() < 0.1:
        target = random.randint(2, target)
    left = list(documents[number])
    while left:
        end = num_tokens = 0
        while end < len(left) and (end == 0 or num_tokens < target):
            num_tokens += len(left[end])
            end += 1
        split = random.randint(1, end - 1) if end > 1 else 1
        first = [token for sentence in left[:split] for token in sentence]
        second = [token for sentence in left[split:end] for token in sentence]
        is_random = not second or random.random() < 0.5
        if is_random:
            other = random.randint(0, len(documents) - 2)
            document = documents[other + (other >= number)]
            begin = random.randint(0, len(document) - 1)
            second = gather(document[begin:], target - len(first))
        left = left[split:] if is_random else left[end:]
        yield first, second, is_random


def cut(first: list[int], second: list[int], room: int) -> None:
    """Takes tokens off the longer half, from either end, one at a time."""
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        longer.pop(0 if random.random() < 0.5 else -1)


def mask(
    tokens: list[int], num_text: int, special: list[int], mask_id: int, size: Callable[[], int]
) -> tuple[list[int], list[int]]:
    """Masks in place; the positions and the tokens that were there."""
    places = [i for i, token in enumerate(tokens) if token not in special]
    random.shuffle(places)
    num_to_mask = min(20, max(1, round(num_text * 0.15)))
    positions = sorted(places[:num_to_mask])
    labels = [tokens[position] for position in positions]
    for position in positions:
        if random.random() < 0.8:
            tokens[position] = mask_id
        elif random.random() < 0.5:
            tokens[position] = random.randint(4, size() - 1)
    return positions, labels


def examples(
    documents: list[Document],
    tokenizer: tokenizers.Tokenizer,
    length: int,
    repeats: int,
    most: int | None,
    size_once: bool,
) -> Iterator[dict[str, Any]]:
    size = functools.cache(tokenizer.get_vocab_size) if size_once else tokenizer.get_vocab_size
    numbers = (n for _ in range(repeats) for n in range(len(documents)))
    pairs = (pair for n in numbers for pair in pairs_of(n, documents, length))
    for first, second, is_random in itertools.islice(pairs, most):
        cls_id, sep_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        mask_id, pad_id = tokenizer.token_to_id("[MASK]"), tokenizer.padding["pad_id"]
        cut(first, second, length - 3)
        num_text = len(first) + len(second)
        padding = length - num_text - 3
        tokens = [cls_id, *first, sep_id, *second, sep_id, *[pad_id] * padding]
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1) + [-1] * padding
        positions, labels = mask(tokens, num_text, [cls_id, sep_id, pad_id], mask_id, size)
        yield {
            "tokens": tokens,
            "segment_ids": segments,
            "is_random_next": is_random,
            "masked_positions": positions,
            "masked_labels": labels,
        }


def write_pyarrow(rows: Iterator[dict[str, Any]], output: str) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    writer, count = None, 0
    while part := list(itertools.islice(rows, ROWS_AT_A_TIME)):
        table = pa.Table.from_pylist(part)
        writer = writer or parquet.ParquetWriter(output, table.schema)
        writer.write_table(table)
        count += len(part)
    assert writer is not None
    writer.close()
    return count


def write_datasets(make: Callable[[], Iterator[dict[str, Any]]], output: str) -> int:
    import datasets

    dataset = datasets.Dataset.from_generator(make, cache_dir=f"{output}.cache")
    dataset.to_parquet(output)
    return len(dataset)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("job", choices=("vocab", "data"))
    parser.add_argument("--text", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--tokenizer")
    parser.add_argument("--vocab_size", type=int, default=30_522)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--most", type=int, help="examples to stop after")
    parser.add_argument("--size_once", action="store_true")
    parser.add_argument("--writer", choices=("pyarrow", "datasets"), default="pyarrow")
    arguments = parser.parse_args()
    if arguments.job == "vocab":
        train(arguments.text, arguments.output, arguments.vocab_size)
        return
    tokenizer = tokenizers.Tokenizer.from_file(arguments.tokenizer)
    documents = read_documents(arguments.text, tokenizer)

    def make() -> Iterator[dict[str, Any]]:
        return examples(
            documents, tokenizer, arguments.length, arguments.repeats, arguments.most,
            arguments.size_once,
        )  # fmt: skip

    if arguments.writer == "datasets":
        count = write_datasets(make, arguments.output)
    else:
        count = write_pyarrow(make(), arguments.output)
    sys.stdout.write(f"{count}\n")


if __name__ == "__main__":
    main()
