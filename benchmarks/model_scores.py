r"""Documents a second that a trained model scores: batches planned by length beside other ways.

    python benchmarks/model_scores.py
    python benchmarks/model_scores.py --transformers_python=PYTHON    # one with transformers, torch

A classifier of two labels on an encoder of a published size, with random weights, reads up to 512
tokens of each document, in one thread. The ways to batch:

    one by one      a batch for each document
    padded          32 documents in their order, all padded to 512 tokens
    longest         32 documents in their order, padded to their longest
    planned         what the step model_score does
    transformers    as "longest", by BertForSequenceClassification of the same folder

Figures are CPU seconds' medians over interleaved rounds, tokenizing included. The texts are those
of ../shared's corpora: sections of WikiText, their sentences, and short Chinese news.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import safetensors.numpy
from absl import app, flags
from machine import describe_machine

from bert_data.curation.models.model_step import open_scorer
from bert_data.curation.models.text_model import (
    NUM_SPECIAL,
    ModelConfig,
    RowMaker,
    TextModel,
    TextRows,
)
from bert_data.text.documents import TextConfig
from bert_data.text.formats import read_documents
from bert_data.tokens.tokenizer_file import read_tokenizer

_SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
_PEER = flags.DEFINE_string("transformers_python", None, "Interpreter with transformers and torch.")
_DATA = flags.DEFINE_string("data", str(_SHARED), "Folder with corpora/ and vocab/.")
_SIZES = flags.DEFINE_list("sizes", ["small", "base"], "Published sizes of encoders.")
_ROUNDS = flags.DEFINE_integer("rounds", 2, "Rounds; medians are over them.")

_WIDTH, _BATCH_ROWS = 512, 32
_NUM_DOCUMENTS = {"small": 64, "base": 16}
_TEXTS = {
    "sections": ("wikitext.txt", "bert-base-uncased.txt"),
    "sentences": ("wikitext.txt", "bert-base-uncased.txt"),
    "news, Chinese": ("lcsts.txt", "bert-base-chinese.txt"),
}
_WAYS = ("one by one", "padded", "longest", "planned", "transformers")
_PEER_PROGRAM = """
import json, sys, time
import torch, transformers
torch.set_num_threads(1)
folder, texts, rounds, width, rows = json.load(sys.stdin)
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
def run():
    scores = []
    for at in range(0, len(texts), rows):
        batch = tokenizer(texts[at : at + rows], truncation=True, max_length=width, padding=True,
                          return_tensors="pt")
        with torch.no_grad():
            scores += torch.softmax(model(**batch).logits, 1)[:, 1].tolist()
    return scores
seconds = []
for _ in range(rounds):
    start = time.process_time()
    scores = run()
    seconds.append(time.process_time() - start)
json.dump([seconds, scores, transformers.__version__, torch.__version__], sys.stdout)
"""


def read_texts(name: str, number: int) -> list[str]:
    """Documents of a corpus, evenly over it."""
    path = f"{_DATA.value}/corpora/{_TEXTS[name][0]}"
    texts: list[str] = []
    for block in read_documents([path], TextConfig()):
        for document in block.documents:
            lines = document.text.split("\n") if isinstance(document.text, str) else document.text
            texts += lines if name == "sentences" else ["\n".join(lines)]
    texts = [text for text in texts if text.strip()]
    return [texts[at] for at in np.linspace(0, len(texts) - 1, number).astype(int)]


def write_model(size: str, vocab_file: str, folder: Path) -> None:
    """A folder of Hugging Face, with random weights."""
    from bert_data.tokens.hugging_face_files import TOKENIZER, tokenizer_json
    from bert_data.training import BertConfig, text_classifier
    from bert_data.training.hugging_face_weights import (
        hugging_face_name,
        is_transposed,
        write_hugging_face,
    )

    tokens = Path(vocab_file).read_text(encoding="utf-8").splitlines()
    config = BertConfig.load(size, len(tokens))
    model = text_classifier(config, num_labels=2, random_seed=1)
    tensors = {
        "classifier.weight": model.output_layer.kernel.numpy().T,
        "classifier.bias": model.output_layer.bias.numpy(),
    }
    for name, variable in model.released_weights().items():
        value = variable.numpy()
        tensors[hugging_face_name(name)] = value.T if is_transposed(name) else value
    tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    (folder / "model.safetensors").write_bytes(safetensors.numpy.save(tensors, {"format": "pt"}))
    (folder / TOKENIZER).write_text(tokenizer_json(tokens, do_lower_case=True))
    described = write_hugging_face(
        vars(config), architecture="BertForSequenceClassification", pad_token_id=0
    )
    (folder / "config.json").write_text(json.dumps(described))


def in_order(rows: TextRows, num_rows: int, width: int | None) -> Iterator[tuple[np.ndarray, ...]]:
    """Batches of rows in their order, of a width or that of their longest row."""
    cls_id, sep_id, pad_id = rows.special
    for first in range(0, rows.texts.size, num_rows):
        numbers = range(first, min(first + num_rows, rows.texts.size))
        widest = width or int(rows.lengths[first : first + num_rows].max()) + NUM_SPECIAL
        ids = np.full((len(numbers), widest), pad_id, np.int32)
        mask = np.zeros_like(ids)
        for row, number in enumerate(numbers):
            start, length = rows.starts[number], rows.lengths[number]
            tokens = [cls_id, *rows.ids[start : start + length], sep_id]
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        yield ids, mask


def score_in_order(
    model: TextModel, maker: RowMaker, texts: Sequence[str], num_rows: int, width: int | None
) -> list[float]:
    """Scores of texts whose batches are in their order."""
    scores: list[float] = []
    for ids, mask in in_order(maker.make(texts), num_rows, width):
        logits = model.network.run(ids, mask, 0 * ids)["logits"].numpy().astype(np.float64)
        scores += (1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))).tolist()
    return scores


def run_peer(folder: Path, texts: Sequence[str]) -> tuple[list[float], list[float], str]:
    """CPU seconds, scores and versions of transformers."""
    request = json.dumps([str(folder), list(texts), _ROUNDS.value, _WIDTH, _BATCH_ROWS])
    program = [_PEER.value, "-c", _PEER_PROGRAM]
    answer = subprocess.run(program, input=request, capture_output=True, text=True, check=True)
    seconds, scores, *versions = json.loads(answer.stdout)
    return seconds, scores, "transformers {}, torch {}".format(*versions)


def measure(size: str, name: str) -> tuple[list[str], str]:
    """The row of a table, and what ran the peer."""
    vocab_file = f"{_DATA.value}/vocab/{_TEXTS[name][1]}"
    texts = read_texts(name, _NUM_DOCUMENTS[size])
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        write_model(size, vocab_file, folder)
        scorer = open_scorer(ModelConfig(model=path), label="1")
        model = TextModel(ModelConfig(model=path))
        maker = RowMaker(read_tokenizer(f"{path}/tokenizer.json", do_lower_case=True), _WIDTH, 1)
        ways = {
            "one by one": lambda: score_in_order(model, maker, texts, 1, None),
            "padded": lambda: score_in_order(model, maker, texts, _BATCH_ROWS, _WIDTH),
            "longest": lambda: score_in_order(model, maker, texts, _BATCH_ROWS, None),
            "planned": lambda: scorer.score(texts).tolist(),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        scores: dict[str, list[float]] = {}
        for _ in range(_ROUNDS.value):
            for way, run in ways.items():
                start = time.process_time()
                scores[way] = run()
                seconds[way].append(time.process_time() - start)
        versions = ""
        if _PEER.value:
            seconds["transformers"], scores["transformers"], versions = run_peer(folder, texts)
    difference = max(
        float(np.abs(np.subtract(values, scores["planned"])).max()) for values in scores.values()
    )
    medians = {way: statistics.median(values) for way, values in seconds.items()}
    rates = {way: len(texts) / value for way, value in medians.items()}
    num_bytes = sum(len(text.encode()) for text in texts)
    mean = float((maker.make(texts).lengths + NUM_SPECIAL).mean())
    row = [size, name, f"{len(texts)}", f"{mean:.0f}"]
    row += [f"{rates[way]:.3g}" if way in rates else "-" for way in _WAYS]
    row += [f"{num_bytes / medians['planned'] / 1e6:.3f}", f"{difference:.0e}"]
    row += [f"{rates['planned'] / rates['padded']:.1f}"]
    return row, versions


def main(_: Sequence[str]) -> None:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    head = ["encoder", "texts", "documents", "tokens each", *_WAYS]
    head += ["planned, MB/s", "largest difference", "planned / padded"]
    print(f"| {' | '.join(head)} |")
    print("|---|---|" + "--:|" * (len(head) - 2))
    versions = ""
    for size in _SIZES.value:
        for name in _TEXTS:
            row, versions = measure(size, name)
            print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{describe_machine()} {versions}", file=sys.stdout)


if __name__ == "__main__":
    app.run(main)
