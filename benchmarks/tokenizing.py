"""Speed and exactness of the tokenizer compared with its peers, as Markdown on standard output.

    python benchmarks/tokenizing.py > benchmarks/results/tokenizing.md

All run in this call, one after the other, on one thread. Time is the CPU time of the process, the
median of several runs; "cold" is the first pass of a new tokenizer over the text, "warm" a later
one. Ours gets the file's bytes, which it checks and splits into lines; the others get a list of
lines, made beforehand. Exactness is the number of lines, and of code points inserted into
templates, whose ids differ from those of `tokenization.py`, the definition in plain Python.
"""

import argparse
import dataclasses
import importlib.metadata
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import cpu_seconds, describe_machine  # noqa: E402

import tokenization  # noqa: E402
from bert_data.tokens.tokenizer import FastTokenizer  # noqa: E402
from bert_data.tokens.vocabulary import load_vocabulary  # noqa: E402
from bert_data.tokens.vocabulary_config import MODELS, VocabularyTrainingConfig  # noqa: E402
from bert_data.tokens.vocabulary_training import train_vocabulary  # noqa: E402
from bert_data.tokens.word_counts import count_words  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data"
TEMPLATES = ("{}", "a{}b", "{} the", "e{}\u0301x")
NUM_BUILDS = 5
NUM_WARM_RUNS = 3  # of each build

TEXTS = ("wikitext.txt", "movie_reviews.txt", "udhr.txt", "lcsts.txt")
VOCABS = ("bert-base-uncased.txt",) * 3 + ("bert-base-chinese.txt",)


@dataclasses.dataclass(frozen=True)
class Text:
    """A text in the forms that the tokenizers take."""

    data: bytes

    @cached_property
    def lines(self) -> list[str]:
        return self.data.decode().removesuffix("\n").split("\n")

    @cached_property
    def tensor(self) -> Any:
        import tensorflow as tf

        return tf.constant([line.encode() for line in self.lines])


class Ours:
    name = "bert_data"

    def __init__(self, vocab: str) -> None:
        self.tokenizer = FastTokenizer(load_vocabulary(vocab))

    def run(self, text: Text) -> object:
        return self.tokenizer.tokenize_block(text.data)

    def rows(self, lines: Sequence[str]) -> Iterable[list[int]]:
        return map(self.tokenizer.encode, lines)


class Definition:
    name = "`tokenization.py` (the definition)"

    def __init__(self, vocab: str) -> None:
        self.tokenizer = tokenization.FullTokenizer(vocab)

    def run(self, text: Text) -> object:
        return list(self.rows(text.lines))

    def rows(self, lines: Sequence[str]) -> Iterable[list[int]]:
        for line in lines:
            yield self.tokenizer.convert_tokens_to_ids(self.tokenizer.tokenize(line))


def huggingface_tokenizer(vocab: str) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    model = models.WordPiece(
        tokenization.load_vocab(vocab), unk_token="[UNK]", max_input_chars_per_word=200
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


class HuggingFace:
    name = "`tokenizers`"

    def __init__(self, vocab: str) -> None:
        self.tokenizer = huggingface_tokenizer(vocab)

    def run(self, text: Text) -> object:
        return self.rows(text.lines)

    def rows(self, lines: Sequence[str]) -> Iterable[list[int]]:
        encodings = self.tokenizer.encode_batch_fast(lines, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]


class Nanotoken:
    name = "`nanotoken`"

    def __init__(self, vocab: str) -> None:
        import nanotoken

        self.tokenizer = nanotoken.Tokenizer.from_json(huggingface_tokenizer(vocab).to_str())
        self.tokenizer.clear_cache()

    def run(self, text: Text) -> object:
        return self.tokenizer.encode_batch(text.lines, add_special_tokens=False, parallel=False)

    def rows(self, lines: Sequence[str]) -> Iterable[list[int]]:
        return self.tokenizer.encode_batch_list(lines, add_special_tokens=False, parallel=False)


class TensorFlowText:
    name = "`tensorflow_text.FastBertTokenizer`"

    def __init__(self, vocab: str) -> None:
        import tensorflow as tf
        import tensorflow_text

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.tokenizer = tensorflow_text.FastBertTokenizer(
            # It refuses an empty token, which nothing could be cut into anyway.
            [token or "[empty]" for token in tokenization.load_vocab(vocab)],
            max_bytes_per_word=200,
            lower_case_nfd_strip_accents=True,
        )

    def run(self, text: Text) -> object:
        return self.tokenizer.tokenize(text.tensor)

    def rows(self, lines: Sequence[str]) -> Iterable[list[int]]:
        import tensorflow as tf

        return self.tokenizer.tokenize(tf.constant([line.encode() for line in lines])).to_list()


PEERS = (HuggingFace, TensorFlowText, Nanotoken)


def time_runs(engine: type, vocab: str, text: Text) -> tuple[float, float]:
    """Median CPU seconds of the first and of later passes over the text."""
    cold, warm = [], []
    for _ in range(NUM_BUILDS):
        tokenizer = engine(vocab)
        cold.append(cpu_seconds(lambda: tokenizer.run(text)))  # noqa: B023
        warm += [cpu_seconds(lambda: tokenizer.run(text)) for _ in range(NUM_WARM_RUNS)]  # noqa: B023
    return statistics.median(cold), statistics.median(warm)


def num_different(ours: Iterable[list[int]], expected: Sequence[list[int]]) -> int:
    return sum(a != b for a, b in zip(ours, expected, strict=True))


def compare_on(path: str, vocab: str) -> Iterator[str]:
    """The lines of the table for one text."""
    text = Text(Path(path).read_bytes())
    megabytes = len(text.data) / 1e6
    yield f"\n### {Path(path).name}, {megabytes:.2f} MB, with {Path(vocab).name}\n"
    yield (
        "| | cold, CPU s | MB/s | warm, CPU s | MB/s | definition / this, warm "
        "| this / ours, cold | this / ours, warm | lines that differ |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    definition = Definition(vocab)
    expected: list[list[int]] = []
    slow = cpu_seconds(lambda: expected.extend(definition.rows(text.lines)))
    ours = time_runs(Ours, vocab, text)
    for engine in (Ours, *PEERS, Definition):
        if engine in (Ours, Definition):
            cold, warm = ours if engine is Ours else (slow, slow)
        else:
            cold, warm = time_runs(engine, vocab, text)
        rows = expected if engine is Definition else engine(vocab).rows(text.lines)
        cells = [
            engine.name,
            *(f"{number:.3g}" for number in (cold, megabytes / cold, warm, megabytes / warm)),
            *(f"{ratio:.3g}" for ratio in (slow / warm, cold / ours[0], warm / ours[1])),
            f"{num_different(rows, expected):,} of {len(expected):,}",
        ]
        yield f"| {' | '.join(cells)} |"


def compare_code_points(vocab: str) -> Iterator[str]:
    """The lines of the table of differing code points."""
    points = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    engines = [engine(vocab) for engine in (Ours, *PEERS)]
    yield f"\n### Code points whose ids differ, of {len(points):,}, {Path(vocab).name}\n"
    yield f"| template | {' | '.join(engine.name for engine in engines)} |"
    yield f"|---|{'--:|' * len(engines)}"
    definition = Definition(vocab)
    for template in TEMPLATES:
        texts = [template.format(point) for point in points]
        expected = list(definition.rows(texts))
        counts = [num_different(engine.rows(texts), expected) for engine in engines]
        shown = template.replace("\u0301", "\\u0301")
        yield f"| `{shown}` | {' | '.join(f'{count:,}' for count in counts)} |"


_FIRST_USE = """
import time
import numpy
start = time.process_time()
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import load_vocabulary
FastTokenizer(load_vocabulary({vocab!r})).tokenize_block(b"first words")
print(time.process_time() - start)
"""


def start_up(vocab: str) -> str:
    """One sentence on what it costs to begin, in new processes."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = [
            float(
                subprocess.run(
                    [sys.executable, "-c", _FIRST_USE.format(vocab=vocab)],
                    cwd=CHECKOUT,
                    env={**os.environ, "BERT_DATA_CACHE_DIR": folder},
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            for _ in range(1 + NUM_BUILDS)
        ]
    return (
        f"From the import to the first ids of bert_data (NumPy's own import apart): "
        f"{seconds[0]:.1f} CPU seconds in the first process, which compiles the kernels, "
        f"{statistics.median(seconds[1:]):.2f} in later ones."
    )


def versions() -> str:
    packages = ("numba", "numpy", "tokenizers", "tensorflow-text", "nanotoken")
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--text",
        nargs="+",
        default=[str(SHARED / "corpora" / name) for name in TEXTS],
        help="UTF-8, one sentence a line",
    )
    parser.add_argument(
        "--vocab",
        nargs="+",
        default=[str(SHARED / "vocab" / name) for name in VOCABS],
        help="the vocabulary of each text, or one for all; text is lower-cased",
    )
    parser.add_argument(
        "--no_code_points", action="store_true", help="leave out the last table (minutes)"
    )
    arguments = parser.parse_args()
    if len(arguments.vocab) == 1:
        arguments.vocab *= len(arguments.text)
    if len(arguments.vocab) != len(arguments.text):
        parser.error(f"{len(arguments.vocab)} files of --vocab, {len(arguments.text)} of --text")
    return arguments


def word_counting(paths: Sequence[str]) -> Iterator[str]:
    """Yield a table of what counting the words of texts costs, and training 30,000 tokens, too."""
    yield "\n### `train-vocab`, CPU ms a MB, the second time\n"
    yield "| text | " + " | ".join(MODELS) + " |"
    yield "|---|" + "--:|" * len(MODELS)
    for path, work in itertools.product(paths, (count_words, train_vocabulary)):
        row = [f"{os.path.basename(path)}, {work.__name__}"]
        for model in MODELS:
            for _ in range(2):
                with tempfile.TemporaryDirectory() as folder:
                    config = VocabularyTrainingConfig(
                        input_files=(path,), vocab_size=30_000, model=model, work_dir=f"{folder}/w"
                    )
                    start = sum(os.times()[:4])  # with processes that have ended
                    work(config)
                    seconds = sum(os.times()[:4]) - start
            row.append(f"{seconds * 1e9 / os.path.getsize(path):.0f}")
        yield "| " + " | ".join(row) + " |"


def main() -> None:
    arguments = parse_arguments()
    print("# Tokenizing: text to ids, one thread\n")
    print(f"{describe_machine()}; {versions()}.\n")
    print(
        f"CPU time, the median of {NUM_BUILDS} first passes (cold) and of "
        f"{NUM_BUILDS * NUM_WARM_RUNS} later ones (warm); of the definition one run.\n"
    )
    print(start_up(arguments.vocab[0]))
    for path, vocab in zip(arguments.text, arguments.vocab, strict=True):
        for line in compare_on(path, vocab):
            print(line, flush=True)
    for line in word_counting(arguments.text):
        print(line, flush=True)
    if not arguments.no_code_points:
        for line in compare_code_points(arguments.vocab[0]):
            print(line, flush=True)


if __name__ == "__main__":
    main()
