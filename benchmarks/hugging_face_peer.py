"""The peer: transformers opens a folder, reads a request as JSON, writes the answer as JSON.

    PYTHON benchmarks/hugging_face_peer.py < request.json > answer.json

PYTHON is an interpreter with transformers and torch. The request has "folder", "texts" and
"inputs" (input_ids, attention_mask, token_type_ids); the answer has the ids of the texts and the
outputs of each class. What the library logs goes to standard error.
"""

import json
import sys
import warnings

import torch
import transformers


def outputs_of(name, folder, inputs):
    with torch.no_grad():
        outputs = getattr(transformers, name).from_pretrained(folder).eval()(**inputs)
    names = ("last_hidden_state", "pooler_output", "logits", "prediction_logits")
    names = (*names, "seq_relationship_logits")
    return {key: outputs[key].tolist() for key in names if key in outputs}


def main():
    request = json.load(sys.stdin)
    transformers.utils.logging.disable_progress_bar()
    folder = request["folder"]
    inputs = {name: torch.tensor(rows) for name, rows in request["inputs"].items()}
    warnings.simplefilter("always")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in request["texts"]]
    names = ("AutoModel", "AutoModelForMaskedLM", "BertForPreTraining")
    outputs = {name: outputs_of(name, folder, inputs) for name in names}
    answer = {"version": transformers.__version__, "ids": ids, "outputs": outputs}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
