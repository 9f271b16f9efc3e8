"""The graphs for TF Hub compared with TensorFlow Text: packing, tokenizing, and batches' width.

    python benchmarks/hub.py > benchmarks/results/hub.md

All run in this call, on one thread. Time is CPU time of the process, the median of several runs.
Packing and tokenizing run inside a tf.data pipeline or a tf.function, as in training. The peers are
tensorflow_text's trim, combine and pad, of which TF Hub's packer consists; its FastBertTokenizer;
and the exported SavedModel's own packer at its fixed width.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import tensorflow as tf  # noqa: E402
import tensorflow_text as tf_text  # noqa: E402
from machine import cpu_seconds, describe_machine  # noqa: E402

from bert_data.hub import ExportConfig, SpecialIds, export, pack_rows, width_of_longest  # noqa: E402
from bert_data.hub.preprocessing import GraphTokenizer  # noqa: E402
from bert_data.tokens.tokenizer import FastTokenizer  # noqa: E402
from bert_data.tokens.vocabulary import TokenTable, load_vocabulary  # noqa: E402
from bert_data.training import BertConfig, pretraining_model  # noqa: E402
from bert_data.training.checkpoints import save_checkpoint  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data"
TEXTS = ("wikitext.txt", "movie_reviews.txt", "udhr.txt", "lcsts.txt")
VOCABS = ("bert-base-uncased.txt",) * 3 + ("bert-base-chinese.txt",)
BATCH_SIZE = 256
NUM_RUNS = 5
NUM_PACKED = 400  # batches a run of packing
NUM_ENCODED = 4  # batches of the encoder


def median_seconds(function: Callable[[], object], num_runs: int = NUM_RUNS) -> float:
    function()
    return statistics.median(cpu_seconds(function) for _ in range(num_runs))


def row(*cells: object) -> str:
    shown = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells]
    return f"| {' | '.join(shown)} |"


def read_lines(name: str) -> list[bytes]:
    return (SHARED / "corpora" / name).read_bytes().removesuffix(b"\n").split(b"\n")


def batches_of(lines: Sequence[Any]) -> list[tf.Tensor]:
    return [tf.constant(lines[i : i + BATCH_SIZE]) for i in range(0, len(lines), BATCH_SIZE)]


def text_peer(segments: Sequence[tf.RaggedTensor], special: SpecialIds, width: int) -> Any:
    """The work of TF Hub's packer, by TensorFlow Text's functions."""
    trimmed = tf_text.RoundRobinTrimmer(width - len(segments) - 1).trim(segments)
    ids, types = tf_text.combine_segments(trimmed, special.start_id, special.end_id)
    ids, mask = tf_text.pad_model_inputs(ids, width)
    types, _ = tf_text.pad_model_inputs(types, width)
    return ids, mask, types


def compare_packing(special: SpecialIds, rows: list[list[int]], saved: Any) -> Iterator[str]:
    yield "\n## Packing a batch of token ids\n"
    yield (
        "Lines of movie_reviews.txt; microseconds of CPU a batch in tf.data, less that of"
        " an empty one. The SavedModel's packer is bert_data's, called through it.\n"
    )
    yield (
        "| segments | batch | width | bert_data | to the longest row | TensorFlow Text"
        " | SavedModel's | TensorFlow Text / bert_data |"
    )
    yield "|--:|--:|--:|--:|--:|--:|--:|--:|"
    for num_segments in (1, 2):
        for size, width in ((32, 128), (256, 128), (64, 512)):
            segments = [
                tf.ragged.constant(
                    rows[i * size : (i + 1) * size], tf.int32, row_splits_dtype=tf.int64
                )
                for i in range(num_segments)
            ]
            source = tf.data.Dataset.from_tensors(tuple(segments)).repeat(NUM_PACKED)
            ways = {
                "none": lambda *s: s[0].row_splits,
                "ours": lambda *s, w=width: pack_rows(s, special, w),
                "longest": lambda *s, w=width: pack_rows(s, special, width_of_longest(s, w)),
                "peer": lambda *s, w=width: text_peer(s, special, w),
                "saved": lambda *s, w=width: saved.bert_pack_inputs(list(s), seq_length=w),
            }
            micros = {}
            for name, way in ways.items():
                data = source.map(tf.autograph.experimental.do_not_convert(way))
                seconds = median_seconds(lambda d=data: d.reduce(0, lambda n, _: n + 1))
                micros[name] = seconds / NUM_PACKED * 1e6
            costs = {name: micros[name] - micros["none"] for name in ways if name != "none"}
            cells = [f"{cost:.0f}" for cost in costs.values()]
            yield row(num_segments, size, width, *cells, costs["peer"] / costs["ours"])


def compare_widths(
    config: BertConfig, special: SpecialIds, rows: list[list[int]], saved: Any
) -> Iterator[str]:
    yield "\n## The encoder on rows of the batch's own width\n"
    yield (
        f"{config.num_hidden_layers} layers of {config.hidden_size}, batches of 32 lines of"
        " movie_reviews.txt in their order; milliseconds of CPU a batch, packing included.\n"
    )
    yield (
        "| task | limit | fixed width, packed by the SavedModel | own width, packed by bert_data"
        " | times faster |"
    )
    yield "|---|--:|--:|--:|--:|"
    batches = [
        tf.ragged.constant(rows[i * 32 : (i + 1) * 32], tf.int32, row_splits_dtype=tf.int64)
        for i in range(NUM_ENCODED)
    ]
    spec = [tf.RaggedTensorSpec([None, None], tf.int32)]
    for limit in (128, 512):

        def fixed(tokens: tf.RaggedTensor, limit: int = limit) -> Any:
            return saved.preprocess.bert_pack_inputs([tokens], seq_length=limit)

        def own(tokens: tf.RaggedTensor, limit: int = limit) -> Any:
            return pack_rows([tokens], special, width_of_longest([tokens], limit))

        for task in ("encode", "train"):
            seconds = []
            for way in (fixed, own):
                step = tf.function(encoder_step(saved.encoder, way, task), input_signature=spec)
                seconds.append(median_seconds(lambda step=step: [step(b) for b in batches], 3))
            per_batch = [s / NUM_ENCODED * 1e3 for s in seconds]
            yield row(task, limit, *(f"{ms:.0f}" for ms in per_batch), per_batch[0] / per_batch[1])


def encoder_step(
    encoder: Any, way: Callable[[tf.RaggedTensor], Any], task: str
) -> Callable[..., Any]:
    def step(tokens: tf.RaggedTensor) -> tf.Tensor:
        if task == "encode":
            return encoder(way(tokens))["pooled_output"]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(encoder(way(tokens), training=True)["pooled_output"] ** 2)
        gradients = tape.gradient(loss, encoder.trainable_variables)
        return tf.add_n(
            [tf.reduce_sum(tf.convert_to_tensor(g)) for g in gradients if g is not None]
        )

    return step


def compare_tokenizing() -> Iterator[str]:
    yield "\n## Tokenizing in the graph\n"
    yield (
        f"Batches of {BATCH_SIZE} lines. `exact` and `fast` are the values of --tokenizer; fast is"
        " tensorflow_text.FastBertTokenizer. Lines are counted whose ids are not those of"
        " `tokenization.py`.\n"
    )
    yield (
        "| text | MB | exact, MB/s | fast, MB/s | exact, lines that differ"
        " | fast, lines that differ |"
    )
    yield "|---|--:|--:|--:|--:|--:|"
    for name, vocab in zip(TEXTS, VOCABS, strict=True):
        vocabulary = load_vocabulary(SHARED / "vocab" / vocab)
        lines = read_lines(name)
        megabytes = sum(len(line) + 1 for line in lines) / 1e6
        batches = batches_of(lines)
        speeds, counts = [], []
        for kind in ("exact", "fast"):
            tokenizer = GraphTokenizer(vocabulary, do_lower_case=True, tokenizer=kind)
            seconds = median_seconds(lambda t=tokenizer, b=batches: [t(x) for x in b], 3)
            speeds.append(megabytes / seconds)
            different = num_different(tokenizer, FastTokenizer(vocabulary), lines)
            counts.append(f"{different:,} of {len(lines):,}")
        yield row(name, f"{megabytes:.2f}", *speeds, *counts)


def num_different(tokenizer: GraphTokenizer, exact: FastTokenizer, lines: Sequence[bytes]) -> int:
    """FastTokenizer's ids are the definition's, which its own tests and benchmark hold it to."""
    number = 0
    for first in range(0, len(lines), 4096):
        texts = lines[first : first + 4096]
        ids = tokenizer(tf.constant(texts)).merge_dims(1, 2).to_list()
        expected = [exact.encode(text.decode()) for text in texts]
        number += sum(a != b for a, b in zip(ids, expected, strict=True))
    return number


class Saved:
    """An exported preprocessing and an encoder of random weights, loaded again."""

    def __init__(self, vocabulary: TokenTable, config: BertConfig, folder: str) -> None:
        weights = pretraining_model(config).released_weights()
        values = {name: variable.value for name, variable in weights.items()}
        prefix = save_checkpoint(folder, 0, values, num_kept=1)
        Path(folder, "bert_config.json").write_text(config.to_json(), encoding="utf-8")
        start = time.process_time()
        export(
            ExportConfig(
                vocab_file=vocabulary.path, init_checkpoint=prefix, output_dir=f"{folder}/hub"
            )
        )
        self.export_seconds = time.process_time() - start
        self.preprocess = tf.saved_model.load(f"{folder}/hub/preprocess")
        self.encoder = tf.saved_model.load(f"{folder}/hub/encoder")


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    vocabulary = load_vocabulary(SHARED / "vocab" / VOCABS[0])
    special = SpecialIds(start_id=vocabulary.cls_id, end_id=vocabulary.sep_id)
    config = BertConfig(
        vocab_size=vocabulary.size,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
    )
    exact = FastTokenizer(vocabulary)
    rows = [exact.encode(line.decode()) for line in read_lines("movie_reviews.txt")[:2000]]
    rows = [ids for ids in rows if ids]
    print("# TF Hub: packing, the encoder's width, tokenizing in the graph\n")
    print(f"{describe_machine()}; tensorflow {tf.__version__}, text {tf_text.__version__}.\n")
    print("CPU time on one thread, medians.")
    with tempfile.TemporaryDirectory() as folder:
        saved = Saved(vocabulary, config, folder)
        print(f"Exporting both SavedModels took {saved.export_seconds:.0f} CPU seconds.")
        for line in compare_packing(special, rows, saved.preprocess):
            print(line, flush=True)
        for line in compare_widths(config, special, rows, saved):
            print(line, flush=True)
    for line in compare_tokenizing():
        print(line, flush=True)


if __name__ == "__main__":
    main()
