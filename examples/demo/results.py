"""The results of a training run: its curve, its loss compared with that of no context, its guesses.

demo_output/model/{metrics.jsonl, model.ckpt-2000}, *.tfrecord, vocab.txt  ->  the screen
"""

import contextlib
import dataclasses
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bert_data.reader import ReaderConfig, iterate_arrays
from bert_data.records import fields
from bert_data.tokens.vocabulary import TokenTable, load_vocabulary
from examples.demo.curve import Points, plot
from examples.demo.unigrams import UnigramLoss, unigram_loss
from tokenization import FullTokenizer

# On some 10,000 masked tokens, this many nats below the unigrams cannot be chance.
CLEARLY = 0.5
SENTENCES = (
    "Return [MASK] if the object is a string, False otherwise.",
    "If the file does [MASK] exist, an exception is raised.",
    "This function returns a [MASK] of strings.",
    "The first [MASK] is the name of the file.",
    "This method is called when the [MASK] is closed.",
    "The default value is [MASK].",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """Curves and losses of a run, all in nats per masked token.

    Attributes:
      folder: of the demo.
      vocabulary: of the model.
      train_curve: (step, masked-LM loss of that step).
      held_out_curve: (step, masked-LM loss on all held-out records), by evaluation.
      accuracy: share of the held-out masked tokens that the trained model guesses correctly.
      unigrams: the best losses without context.
    """

    folder: Path
    vocabulary: TokenTable
    train_curve: Points
    held_out_curve: Points
    accuracy: float
    unigrams: UnigramLoss

    @property
    def loss(self) -> float:
        """The final masked-LM loss on held-out records."""
        return self.held_out_curve[-1][1]


def load_results(folder: Path) -> Results:
    """Read what training has written to `folder`, and what its masked tokens are."""
    vocabulary = load_vocabulary(folder / "vocab.txt")
    lines = (folder / "model" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    reports = [json.loads(line) for line in lines]
    evaluations = [report for report in reports if "eval_masked_lm_loss" in report]
    return Results(
        folder=folder,
        vocabulary=vocabulary,
        train_curve=[(report["step"], report["masked_lm_loss"]) for report in reports],
        held_out_curve=[(each["step"], each["eval_masked_lm_loss"]) for each in evaluations],
        accuracy=evaluations[-1]["eval_masked_lm_accuracy"],
        unigrams=unigram_loss(
            _masked_tokens(folder / "train.tfrecord"),
            _masked_tokens(folder / "held_out.tfrecord"),
            vocab_size=vocabulary.size,
        ),
    )


def show_curve(results: Results) -> None:
    """Print both curves in one plot."""
    print("\nmasked-LM loss in nats (* training, o held out)\n")
    series = {"*": results.train_curve, "o": results.held_out_curve}
    print(plot(series, level=results.unigrams.cross_entropy, level_name="unigrams"))


def show_losses(results: Results) -> bool:
    """Print the loss and that of no context; return whether it is clearly lower."""
    unigrams, loss = results.unigrams, results.loss
    print(f"\non {unigrams.num_tokens:,} masked tokens of documents that training has not seen:\n")
    for value, name in (
        (unigrams.cross_entropy, "loss of the training text's unigrams (frequency, no context)"),
        (unigrams.entropy, "entropy of these tokens' own unigrams (no such model can be better)"),
        (loss, f"loss of the model, which guesses {results.accuracy:.1%} of the tokens right"),
    ):
        print(f"  {value:.2f} nats  {name}")
    gain = unigrams.entropy - loss
    clear = gain > CLEARLY
    if clear:
        factor = math.exp(unigrams.cross_entropy - loss)
        print(
            f"\n{gain:.2f} nats below the unigram entropy: it has learned from context. The right"
            f" token\nis {factor:.1f} times as likely to it as to the unigrams (geometric mean)."
        )
    else:
        print(f"\nonly {gain:.2f} nats below the unigram entropy: it has not learned from context")
    return clear


def show_guesses(results: Results) -> None:
    """Print the model's five best guesses for the masks of some sentences."""
    with _without_native_log():
        import tensorflow as tf

        tf.config.list_logical_devices()
        from bert_data import training

    vocabulary = results.vocabulary
    tokenizer = FullTokenizer(str(results.folder / "vocab.txt"))
    model = training.load_pretrained(str(results.folder / "model"))
    texts = []
    for sentence in SENTENCES:
        before, after = (tokenizer.tokenize(part) for part in sentence.split("[MASK]"))
        tokens = ["[CLS]", *before, "[MASK]", *after, "[SEP]"]
        texts.append(tokenizer.convert_tokens_to_ids(tokens))
    print("\nthe model's five best guesses:\n")
    guesses = training.best_guesses(model, texts, mask_id=vocabulary.mask_id, k=5)
    for sentence, (best,) in zip(SENTENCES, guesses, strict=True):
        words = ", ".join(f"{vocabulary.tokens[i]} {share:.0%}" for i, share in best)
        print(f"  {sentence}\n      {words}")


def _masked_tokens(path: Path) -> np.ndarray:
    """Return int64[n], the tokens to predict in a file of records."""
    tokens = []
    for batch in iterate_arrays(ReaderConfig(input_patterns=str(path), batch_size=256)):
        weights = batch[fields.MASKED_LM_WEIGHTS.name]
        tokens.append(batch[fields.MASKED_LM_IDS.name][weights > 0])
    return np.concatenate(tokens).astype(np.int64)


@contextlib.contextmanager
def _without_native_log() -> Iterator[None]:
    """Hide what native code writes to stderr, as TensorFlow does when it loads."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
