"""What a page expects its reader to have, made small: `<!-- inputs: corpus.txt vocab.txt -->`."""

import csv
import fnmatch
import functools
import gzip
import itertools
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from pydoc_data.topics import topics

import pyarrow as pa
import pyarrow.parquet as parquet
import zstandard

import bert_data
from bert_data.labelled.label_config import LabelledDatasetConfig
from bert_data.labelled.records import create_labelled_dataset

CHECKOUT = Path(__file__).resolve().parent.parent.parent
CONFIG = {
    "vocab_size": 500,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}
PLAIN_SENTENCE = re.compile(r"[A-Z][A-Za-z ,;'()-]{20,200}\.")
RECIPE = """
vocab_file: vocab.txt
stores: {wiki: data/wiki}
stages: [{steps: 10, batch_size: 8, max_seq_length: 64}]
"""
Maker = Callable[[Path], object]
INPUTS: dict[str, Maker] = {}
"""What makes each input, by its name or a pattern of names; the longest that fits counts."""


def makes(*patterns: str) -> Callable[[Maker], Maker]:
    def register(make: Maker) -> Maker:
        INPUTS.update(dict.fromkeys(patterns, make))
        return make

    return register


def make_inputs(names: Iterable[str]) -> None:
    """Make inputs in the current folder, those that are not there yet."""
    for name in names:
        path = Path(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fitting = (pattern for pattern in INPUTS if fnmatch.fnmatch(name, pattern))
            INPUTS[max(fitting, key=lambda pattern: (pattern == name, len(pattern)))](path)


@functools.cache
def prose() -> list[list[str]]:
    """Sentences of documents in English, of Python's own documentation: 30 of 5 or more."""
    documents = []
    for text in topics.values():
        paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        sentences = (each for p in paragraphs for each in re.split(r"(?<=[.!?]) (?=[A-Z])", p))
        kept = [each for each in sentences if PLAIN_SENTENCE.fullmatch(each)]
        if sum(map(len, kept)) > 400:
            documents.append(kept)
    return documents[:30]


def write_packed(path: Path, data: bytes) -> None:
    """Write a file, compressed as its name says."""
    match path.suffix:
        case ".gz":
            data = gzip.compress(data, mtime=0)
        case ".zst":
            data = zstandard.compress(data)
    path.write_bytes(data)


@makes("examples", "create_pretraining_data.py", "run_pretraining.py")
def link_checkout(path: Path) -> None:
    path.symlink_to(CHECKOUT / path.name)


@makes("bert_config.json")
def write_config(path: Path) -> None:
    path.write_text(json.dumps(CONFIG), encoding="utf-8")


@makes("vocab.txt", "zh/vocab.txt")
def train_vocab(path: Path) -> None:
    bert_data.train_vocab(prose(), path, vocab_size=CONFIG["vocab_size"])


@makes("*/tokenizer.json", "wikitext-103_wordpiece.json")
def train_tokenizer(path: Path) -> None:
    bert_data.train_vocab(prose(), path, model="bpe", vocab_size=CONFIG["vocab_size"])


@makes("*.tfrecord", "*@[0-9]*")
def create_records(path: Path) -> None:
    make_inputs(["vocab.txt"])
    bert_data.create_records(
        prose()[:8], path, vocab_file="vocab.txt", dupe_factor=1, max_seq_length=64
    )


@makes("data/*.idx")
def tokenize_sentences(path: Path) -> None:
    make_inputs(["vocab.txt"])
    bert_data.tokenize(prose(), path.with_suffix(""), vocab_file="vocab.txt", level="sentence")


@makes("*.idx")
def tokenize_documents(path: Path) -> None:
    make_inputs(["vocab.txt"])
    marks = {"append_eod": True, "eod_token": "[SEP]"}
    bert_data.tokenize(prose(), path.with_suffix(""), vocab_file="vocab.txt", **marks)


@makes("wikitext/*.parquet")
def write_wikitext(path: Path) -> None:
    lines = [line for lines in prose() for line in (" = A topic = ", *lines)]
    parquet.write_table(pa.table({"text": lines}), path)


@makes("chats/*.parquet")
def write_chats(path: Path) -> None:
    rows = [
        {"title": lines[0], "messages": [{"role": "user", "content": each} for each in lines]}
        for lines in prose()
    ]
    parquet.write_table(pa.Table.from_pylist(rows), path)


@makes("*.parquet")
def write_parquet(path: Path) -> None:
    parquet.write_table(pa.table({"text": [" ".join(lines) for lines in prose()]}), path)


@makes("*.csv")
def write_csv(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        labels = itertools.cycle(["drama", "comedy", "thriller"])
        rows.writerows(zip(map(" ".join, prose()), labels, strict=False))


@makes("one@2")
def create_records_of_one_document(path: Path) -> None:
    make_inputs(["vocab.txt"])
    (document,) = prose()[:1]
    bert_data.create_records([document], path, vocab_file="vocab.txt")


@makes("recipe.yaml")
def write_recipe(path: Path) -> None:
    make_inputs(["data/wiki.idx"])
    path.write_text(RECIPE, encoding="utf-8")


@makes("encoder")
def write_hugging_face(path: Path) -> None:
    make_inputs(["model"])
    bert_data.export_hf("model", path, vocab_file="vocab.txt")


@makes("model")
def write_model(path: Path) -> None:
    make_inputs(["vocab.txt", "bert_config.json"])
    from bert_data.training import BertConfig, pretraining_model, write_checkpoint

    model = pretraining_model(BertConfig.load("bert_config.json"))
    write_checkpoint(model, path, vocab_file="vocab.txt")


@makes("*.keras")
def write_classifier(path: Path) -> None:
    make_inputs(["bert_config.json"])
    from bert_data.labelled.classifier import text_classifier
    from bert_data.training import BertConfig

    config = BertConfig.load("bert_config.json")
    text_classifier(config, num_labels=2, labels=("bad", "good")).save(path)


@makes("curation.web.jsonl.json")
def write_summary(path: Path) -> None:
    bert_data.curate(prose(), steps="exact_duplicates", output_file="web.jsonl")


@makes("privacy.key")
def write_key(path: Path) -> None:
    path.write_bytes(b"k" * 32)


@makes("blocked.txt", "blacklists/*")
def write_domains(path: Path) -> None:
    path.write_text("bad.example.com\n", encoding="utf-8")


@makes("shards/*.tfrecord")
def label_summaries(path: Path) -> None:
    """Labelled texts of another program: without a manifest."""
    make_inputs(["vocab.txt", "summaries/train.csv"])
    config = LabelledDatasetConfig(
        input_file="summaries/train.csv",
        output_file="summaries/all.tfrecord",
        vocab_file="vocab.txt",
        text_features=("summary",),
    )
    create_labelled_dataset(config)
    Path("summaries/all.tfrecord").rename(path)


@makes("array.json")
def write_array(path: Path) -> None:
    path.write_text(json.dumps([{"text": " ".join(lines)} for lines in prose()]), encoding="utf-8")


@makes("*.txt")
def write_lines(path: Path) -> None:
    path.write_text("\n\n".join(map("\n".join, prose())) + "\n", encoding="utf-8")
