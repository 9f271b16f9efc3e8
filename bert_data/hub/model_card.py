"""The card of a trained model, README.md: its data, vocabulary, steps and evaluation.

It is made of the checkpoint and of the files that training left beside it. What they do not say is
"not known".
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import bert_data
from bert_data.markdown import MADE_BY, UNKNOWN, table, with_front_matter
from bert_data.storage import exists, read_bytes
from bert_data.training import BertConfig
from bert_data.training.model_vocabulary import ModelVocabulary
from bert_data.training.run_output import METRICS_LOG, RESULTS
from bert_data.training.state import DESCRIPTION, GLOBAL_STEP, NUM_BATCHES, SETTINGS, Weights

_MOST_LETTERS = 200  # of a value


def describe_model(
    checkpoint: Weights,
    model: BertConfig,
    vocabulary: ModelVocabulary | None,
    *,
    architecture: str,
    num_parameters: int,
) -> str:
    """Return the text of a card."""
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
        *_section("Training", _json(checkpoint, SETTINGS)),
        *_section("Data", _json(checkpoint, DESCRIPTION)),
        *_section("Evaluation", _evaluation(folder, step)),
        f"{MADE_BY} ({bert_data.__version__}) -->\n",
    ]
    return "\n".join(parts)


def for_hugging_face(text: str, architecture: str) -> str:
    """Return a card with the values that Hugging Face's hub reads."""
    masked = "fill-mask" if architecture != "BertModel" else "feature-extraction"
    values = {
        "library_name": "transformers",
        "pipeline_tag": masked,
        "license": "unknown",
        "tags": ["bert"],
    }
    return with_front_matter(values, text)


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
    return _public(values if isinstance(values, dict) else {"description": text})


def _public(value: Any) -> Any:
    """Return a value without the folders of files, which are nobody else's business."""
    if isinstance(value, dict):
        return {name: _public(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_public(each) for each in value]
    is_path = isinstance(value, str) and (value.startswith("/") or "://" in value)
    return os.path.basename(value.rstrip("/")) if is_path else "none" if value is None else value


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
    yield _table(values) if values else f"{UNKNOWN.capitalize()}.\n"


def _table(values: Mapping[str, Any]) -> str:
    rows = [(name, _shown(value)) for name, value in values.items()]
    return table(["", "value"], rows, is_text=[1])


def _shown(value: Any) -> str:
    if value is None:
        return UNKNOWN
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]} ..."
