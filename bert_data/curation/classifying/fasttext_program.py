"""Train a model by fastText: a program of its own, as the library holds Python's lock meanwhile.

    python fasttext_program.py '{"input": "train.txt", "dim": 100}' model.bin __label__hq

It writes the model, and judges the texts in standard input, lines as those of train.txt:

    __label__cc some text   ->   ["__label__hq", 0.31, 0.69]

A line of its output is the likeliest label, and the probabilities of the text's own label and of
the one that the command line names.
"""

import json
import sys


def main(arguments: str, model_file: str, first: str) -> None:
    """Train, write and judge."""
    import fasttext

    model = fasttext.train_supervised(**json.loads(arguments))
    if len(model.words) <= 1:  # the end of a text is one
        sys.exit("no words")
    model.save_model(model_file)
    for line in sys.stdin:
        label, _, text = line.partition(" ")
        # Not by the package's own `predict`, which some versions of NumPy refuse.
        shares = {name: share for share, name in model.f.predict(text, -1, 0.0, "strict")}
        judged = next(iter(shares), ""), shares.get(label, 0.0), shares.get(first, 0.0)
        sys.stdout.write(f"{json.dumps(judged)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
