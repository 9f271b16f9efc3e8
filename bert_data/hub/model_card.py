"""The cards of exports, README.md: a model's data, vocabulary, steps and evaluation, and its use.

A model's is made of the checkpoint and of the files that training left beside it. What they do not
say is "not known".
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import bert_data
from bert_data.hub.dataset_card import without_folders
from bert_data.hub.export_config import MADE_BY
from bert_data.storage import exists, read_bytes
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.training import BertConfig
from bert_data.training.model_vocabulary import ModelVocabulary
from bert_data.training.run_output import METRICS_LOG, RESULTS
from bert_data.training.state import DESCRIPTION, GLOBAL_STEP, NUM_BATCHES, SETTINGS, Weights

_UNKNOWN = "not known"
_MADE_BY_THIS = f"{MADE_BY} ({bert_data.__version__}) -->\n"
_MOST_LETTERS = 200  # of a value

_USE_OF_PREPROCESSING = """\
```python
import tensorflow as tf
import tensorflow_hub as hub
import tensorflow_text  # preprocess has its operations: import it before hub.load

preprocess = hub.load("preprocess")  # the path of this folder
rows = preprocess(tf.constant(["A text.", "Another one."]))
pairs = [preprocess.tokenize(tf.constant([text])) for text in ("A text.", "What follows it.")]
rows_of_pairs = preprocess.bert_pack_inputs(pairs, seq_length=16)
```

Both have `input_word_ids`, `input_mask` and `input_type_ids`, int32[texts, width].
"""
USE_OF_ENCODER = """\
```python
import tensorflow as tf
import tensorflow_hub as hub
import tensorflow_text  # preprocess has its operations: import it before hub.load

preprocess = hub.load("preprocess")  # exported with the same vocabulary
encoder = hub.load("encoder")  # the path of this folder
outputs = encoder(preprocess(tf.constant(["A text.", "Another one."])))
print(outputs["pooled_output"].shape, outputs["sequence_output"].shape)
```
"""


def describe_model(
    checkpoint: Weights,
    model: BertConfig,
    vocabulary: ModelVocabulary | None,
    *,
    architecture: str,
    num_parameters: int,
    use: str = "",
) -> str:
    """Return the text of a card; `use` is Markdown that shows how to load the model."""
    step = int(checkpoint.read(GLOBAL_STEP)) if GLOBAL_STEP in checkpoint else None
    values: Mapping[str, Any] = {
        "model": architecture,
        "parameters": f"{num_parameters:,}",
        "layers": model.num_hidden_layers,
        "hidden size": model.hidden_size,
        "attention heads": model.num_attention_heads,
        "positions": model.max_position_embeddings,
        "checkpoint": os.path.basename(checkpoint.prefix),
        "steps": None if step is None else f"{step:,}",
        "batches of data": _batches(checkpoint),
        "vocabulary": None if vocabulary is None or vocabulary.size is None
        else f"{vocabulary.size:,} tokens",
        "SHA-256 of the vocabulary": None if vocabulary is None else vocabulary.sha256,
        "licence": None,
        "intended use, limits and biases": None,
    }  # fmt: skip
    folder = os.path.dirname(checkpoint.prefix)
    parts = [
        f"# {architecture}\n",
        "A model of BERT's kind, exported by bert_data.\n",
        _table(values),
        *([f"## Use\n\n{use}"] if use else []),
        *_section("Training", _json(checkpoint, SETTINGS)),
        *_section("Data", _json(checkpoint, DESCRIPTION)),
        *_section("Evaluation", _evaluation(folder, step)),
        _MADE_BY_THIS,
    ]
    return "\n".join(parts)


def describe_preprocessing(text: FastTokenizer, seq_length: int) -> str:
    """Return the text of the card of a preprocessing SavedModel."""
    vocabulary = ModelVocabulary.of(text.vocabulary)
    values = {
        "default width of rows": f"{seq_length:,} tokens",
        "lower case": text.do_lower_case,
        "vocabulary": f"{text.vocabulary.size:,} tokens",
        "SHA-256 of the vocabulary": vocabulary.sha256,
    }
    parts = [
        "# Preprocessing for BERT\n",
        "Turns texts into the inputs of a BERT encoder. Exported by bert_data.\n",
        _table(values),
        f"## Use\n\n{_USE_OF_PREPROCESSING}",
        _MADE_BY_THIS,
    ]
    return "\n".join(parts)


def for_hugging_face(text: str, architecture: str) -> str:
    """Return a card with the values that Hugging Face's hub reads."""
    from huggingface_hub import ModelCardData

    data = ModelCardData(
        library_name="transformers",
        license="unknown",
        pipeline_tag="fill-mask" if architecture != "BertModel" else "feature-extraction",
        tags=["bert"],
    )
    return f"---\n{data.to_yaml()}\n---\n\n{text}"


def _batches(checkpoint: Weights) -> str | None:
    return f"{int(checkpoint.read(NUM_BATCHES)):,}" if NUM_BATCHES in checkpoint else None


def _json(checkpoint: Weights, name: str) -> Mapping[str, Any]:
    """Return a JSON object of a checkpoint; another text has no name."""
    if name not in checkpoint:
        return {}
    read: Any = checkpoint.read(name)
    text = read.decode(errors="replace") if isinstance(read, bytes) else str(read)
    try:
        values = json.loads(text or "{}")
    except ValueError:
        values = None
    values = values if isinstance(values, dict) else {"description": text}
    return {
        key: "none" if value is None else without_folders(value) for key, value in values.items()
    }


def _evaluation(folder: str, step: int | None) -> Mapping[str, Any]:
    """Return the results of the checkpoint's step, which training or an evaluation left."""
    path = os.path.join(folder, RESULTS)
    if step is None:
        return {}
    if exists(path):
        lines = read_bytes(path).decode(errors="replace").splitlines()
        results = dict(line.split(" = ", 1) for line in lines if " = " in line)
        if results.pop("global_step", None) == str(step):
            return results
    return _logged(os.path.join(folder, METRICS_LOG), step)


def _logged(path: str, step: int) -> Mapping[str, Any]:
    """Return losses and evaluations that metrics.jsonl has of a step."""
    found: dict[str, Any] = {}
    for line in read_bytes(path).splitlines() if exists(path) else ():
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if isinstance(values, dict) and values.pop("step", None) == step:
            found = {name: value for name, value in values.items() if _is_result(name)}
    return found


def _is_result(name: str) -> bool:
    return name.startswith("eval_") or "loss" in name


def _section(title: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    yield _table(values) if values else f"{_UNKNOWN.capitalize()}.\n"


def _table(values: Mapping[str, Any]) -> str:
    rows = (f"| {_cell(name)} | {_cell(_shown(value))} |\n" for name, value in values.items())
    return f"|  | value |\n| --- | --- |\n{''.join(rows)}"


def _cell(text: str) -> str:
    """Return a text of any origin as one line that formats nothing."""
    line = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in line)


def _shown(value: Any) -> str:
    if value is None:
        return _UNKNOWN
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]} ..."
