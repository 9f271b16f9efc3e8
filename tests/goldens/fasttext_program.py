"""Records what fastText trains with one thread: writes fasttext/LOSS.bin.xz.

    PYTHON tests/goldens/fasttext_program.py

PYTHON is an interpreter with fasttext-numpy2-wheel 0.9.2. With one thread, fastText draws only the
first tenth of the vectors and leaves the others as the memory was: 0, if the system gave it.
"""

import lzma
import multiprocessing
import os
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = {
    "softmax": {"wordNgrams": 2, "bucket": 7000, "minCount": 4},
    "ova": {"wordNgrams": 1, "bucket": 7000, "minn": 2, "maxn": 3},
}
COMMON = {"dim": 5, "epoch": 20, "lr": 0.5, "thread": 1, "seed": 3, "verbose": 0}


def training_lines() -> list[str]:
    """Texts by formula; no two words occur equally often, so that their order is certain."""
    lines = []
    for text in range(60):
        label = "hq" if text % 5 < 3 else "cc"
        words = [f"w{n}é" for n in range(12) if text * 7 % 60 < 3 + 4 * n]
        words.append("good" if label == "hq" else "bad")
        lines.append(f"__label__{label} {' '.join(words)}")
    return lines


def record(loss: str) -> None:
    """Train and save a model."""
    import fasttext

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lines.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in training_lines()))
        model = fasttext.train_supervised(path, loss=loss, **MODELS[loss], **COMMON)
        model.save_model(f"{path}.bin")
        with open(f"{path}.bin", "rb") as file:
            content = lzma.compress(file.read(), preset=9)
    with open(os.path.join(HERE, "fasttext", f"{loss}.bin.xz"), "wb") as file:
        file.write(content)


def main() -> None:
    """Record all models, each in a process that gets large blocks of memory from the system."""
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
    for loss in MODELS:
        process = multiprocessing.get_context("spawn").Process(target=record, args=(loss,))
        process.start()
        process.join()


if __name__ == "__main__":
    main()
