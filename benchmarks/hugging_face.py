"""Models that go to Hugging Face and back, beside transformers itself.

    python benchmarks/hugging_face.py --transformers=PYTHON > benchmarks/results/hugging_face.md

PYTHON is an interpreter with transformers and torch. A model of BERT-mini's size with random
weights is exported by the command and loaded by three classes of transformers, whose outputs are
compared with our own model's; then our model loads the folder. The texts are lines of the corpora
beside the checkout, made harder by rare characters and long words. transformers reports weights
that a class does not use (UNEXPECTED), as it does for folders that it wrote itself.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import numpy as np  # noqa: E402
from damaged_texts import CORPORA, corpus_documents  # noqa: E402
from machine import describe_machine  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data"
MINI = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
NUM_TEXTS, ROWS, WIDTH = 2000, 8, 64


def texts_of_corpora():
    """Lines of each corpus, and lines with a few characters put in from all of Unicode."""
    chosen = random.Random(1)
    lines = [
        line for name in CORPORA for text in corpus_documents(SHARED / "corpora", name)
        for line in text.splitlines() if line.strip()
    ]  # fmt: skip
    plain = chosen.sample(lines, NUM_TEXTS)
    rare = []
    for line in plain:
        letters = list(line)
        for _ in range(5):
            code = chosen.randrange(0x80, 0x3F800)
            code += 0x800 * (code >= 0xD800)  # no surrogates
            letters.insert(chosen.randrange(len(letters) + 1), chr(code))
        rare.append("".join(letters))
    long_words = [chosen.choice("abc") * chosen.randrange(90, 210) for _ in range(50)]
    return {"lines": plain, "lines with rare characters": rare, "long words": long_words}


def write_model(folder, vocab_size, activation, epsilon):
    from bert_data.training import BertConfig, pretraining_model
    from bert_data.training.checkpoints import save_checkpoint

    config = BertConfig(
        **MINI, intermediate_size=1024, vocab_size=vocab_size, hidden_act=activation,
        layer_norm_eps=epsilon, type_vocab_size=2,
    )  # fmt: skip
    model = pretraining_model(config)
    numbers = np.random.default_rng(1)
    for variable in model.weights:
        noise = numbers.normal(0, 0.05, variable.shape)
        variable.assign(variable.numpy() + noise.astype(np.float32))
    values = {name: variable.numpy() for name, variable in model.released_weights().items()}
    save_checkpoint(str(folder), 1, {**values, "global_step": np.int64(1)}, num_kept=1)
    (folder / "bert_config.json").write_text(config.to_json())
    return model


def make_inputs(vocab_size):
    numbers = np.random.default_rng(2)
    lengths = numbers.integers(8, WIDTH + 1, (ROWS, 1))
    mask = (np.arange(WIDTH) < lengths).astype(np.int32)
    return {
        "input_ids": numbers.integers(0, vocab_size, mask.shape).astype(np.int32) * mask,
        "attention_mask": mask,
        "token_type_ids": (np.arange(WIDTH) >= lengths // 2).astype(np.int32) * mask,
    }


def our_outputs(model, inputs):
    ids, mask, types = inputs.values()
    positions = np.tile(np.arange(WIDTH, dtype=np.int32), (ROWS, 1))
    names = ("input_ids", "input_mask", "segment_ids", "masked_lm_positions")
    scores = model(dict(zip(names, (ids, mask, types, positions), strict=True)))
    hidden, pooled = model.encoder(ids, mask, types)
    masked_lm, next_sentence = scores["masked_lm"].numpy(), scores["next_sentence"].numpy()
    return {
        "last_hidden_state": hidden.numpy(),
        "pooler_output": pooled.numpy(),
        "logits": masked_lm,
        "prediction_logits": masked_lm,
        "seq_relationship_logits": next_sentence,
    }


def largest_difference(ours, theirs, mask):
    theirs = np.array(theirs)
    if theirs.ndim == 3:
        ours, theirs = ours[mask], theirs[mask]
    return np.abs(ours - theirs).max()


def compare(folder, model, python, texts, inputs):
    vocab_file = SHARED / "vocab" / "bert-base-uncased.txt"
    command = [
        sys.executable, "-m", "bert_data.cli.export_hf", f"--init_checkpoint={folder}",
        f"--vocab_file={vocab_file}", f"--output_dir={folder}/hf",
    ]  # fmt: skip
    subprocess.run(command, check=True, cwd=CHECKOUT, capture_output=True)
    request = {
        "folder": f"{folder}/hf",
        "texts": [text for group in texts.values() for text in group],
        "inputs": {name: rows.tolist() for name, rows in inputs.items()},
    }
    program = [python, str(CHECKOUT / "benchmarks/hugging_face_peer.py")]
    done = subprocess.run(program, input=json.dumps(request), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    answer = {**json.loads(done.stdout), "log": done.stderr.splitlines()}
    outputs, mask = our_outputs(model, inputs), inputs["attention_mask"].astype(bool)
    differences = {
        (name, key): largest_difference(outputs[key], values, mask)
        for name, theirs in answer["outputs"].items()
        for key, values in theirs.items()
    }
    return answer, differences, outputs, mask


def ids_that_differ(answer, texts):
    from bert_data.tokens.tokenizer_file import load_tokenizer

    ours = load_tokenizer(str(SHARED / "vocab" / "bert-base-uncased.txt"))
    theirs = iter(answer["ids"])
    return {
        group: sum(ours.encode(text) != next(theirs) for text in lines)
        for group, lines in texts.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transformers", required=True, help="interpreter with transformers")
    python = parser.parse_args().transformers
    from bert_data.training import load_pretrained

    vocab_size = len((SHARED / "vocab" / "bert-base-uncased.txt").read_text().splitlines())
    texts, inputs = texts_of_corpora(), make_inputs(vocab_size)
    print("# Models to and from Hugging Face\n\n" + describe_machine() + "\n")
    for activation, epsilon in (("gelu", 1e-12), ("gelu_erf", 1e-5)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            model = write_model(folder, vocab_size, activation, epsilon)
            answer, differences, outputs, mask = compare(folder, model, python, texts, inputs)
            back = our_outputs(load_pretrained(f"{folder}/hf"), inputs)
        print(f"`hidden_act` {activation}, epsilon {epsilon:g}, transformers {answer['version']};")
        rows = [line.split("|") for line in answer["log"] if line.count("|") > 1]
        statuses = {row[1].strip() for row in rows} - {"Status"}
        print(f"statuses of weights in its reports: {', '.join(statuses) or 'none'}\n")
        print("| class | output | largest difference |\n|---|---|---|")
        for (cls, key), value in differences.items():
            print(f"| {cls} | {key} | {value:.1e} |")
        returned = max(largest_difference(back[key], outputs[key], mask) for key in outputs)
        print(f"| our model, from the folder | all | {returned:.1e} |\n")
    print("| texts | number | with other ids |\n|---|---|---|")
    for group, count in ids_that_differ(answer, texts).items():
        print(f"| {group} | {len(texts[group]):,} | {count} |")


if __name__ == "__main__":
    main()
