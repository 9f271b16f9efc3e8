"""Records what transformers makes of the model in `hugging_face_model`: writes hugging_face.json.

    PYTHON tests/goldens/hugging_face_program.py

PYTHON is an interpreter with transformers and torch. For each case: names and shapes of the tensors
that `save_pretrained` writes, and the outputs of `BertForPreTraining`.
"""

import json
import tempfile
from pathlib import Path

import safetensors.numpy
import torch
import transformers
from hugging_face_model import CASES, INPUTS, SIZES, formula


def main() -> None:
    recorded = {"transformers": transformers.__version__, "cases": {}}
    for case, settings in CASES.items():
        config = transformers.BertConfig(**SIZES, **settings)
        model = transformers.BertForPreTraining(config).eval()
        with torch.no_grad():
            for name, tensor in model.named_parameters():
                tensor.copy_(torch.from_numpy(formula(name, tuple(tensor.shape))))
            outputs = model(
                **{name: torch.tensor(rows) for name, rows in INPUTS.items()},
                output_hidden_states=True,
            )
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            tensors = safetensors.numpy.load_file(Path(folder) / "model.safetensors")
            values = json.loads((Path(folder) / "config.json").read_text())
        recorded["cases"][case] = {
            "config": values,
            "shapes": {name: list(tensors[name].shape) for name in sorted(tensors)},
            "hidden": outputs.hidden_states[-1].numpy().round(7).tolist(),
            "masked_lm": outputs.prediction_logits.detach().numpy().round(7).tolist(),
            "next_sentence": outputs.seq_relationship_logits.detach().numpy().round(7).tolist(),
        }
    path = Path(__file__).with_name("hugging_face.json")
    path.write_text(json.dumps(recorded) + "\n")


if __name__ == "__main__":
    main()
