"""The results of a training run: its curve, its loss compared with that of no context, its guesses.

demo_output/model/{events*, model.ckpt-200, ...}, *.tfrecord, vocab.txt  ->  the screen
"""

import contextlib
import dataclasses
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bert_data.schema import fields
from bert_data.tokens.vocabulary import Vocabulary, load_vocabulary
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
      held_out_curve: (step, masked-LM loss on all held-out records), by checkpoint.
      accuracy: share of the held-out masked tokens that the last checkpoint guesses correctly.
      unigrams: the best losses without context.
    """

    folder: Path
    vocabulary: Vocabulary
    train_curve: Points
    held_out_curve: Points
    accuracy: float
    unigrams: UnigramLoss

    @property
    def loss(self) -> float:
        """The final masked-LM loss on held-out records."""
        return self.held_out_curve[-1][1]


def load_results(folder: Path) -> Results:
    """Read the curves of the run in `folder`, and evaluate its checkpoints on held-out records."""
    with _without_native_log():
        import tensorflow as tf

        tf.config.list_logical_devices()
        from bert_data import training
    vocabulary = load_vocabulary(folder / "vocab.txt")
    curve, metrics = [], {}
    print("\nevaluating each checkpoint on the held-out records ...", flush=True)
    for step in _checkpoint_steps(folder):
        model = training.load_pretrained(str(folder / "model" / f"model.ckpt-{step}"))
        metrics = training.evaluate(model, _batches(folder / "held_out.tfrecord"))
        curve.append((float(step), metrics["masked_lm_loss"]))
    return Results(
        folder=folder,
        vocabulary=vocabulary,
        train_curve=_train_curve(folder),
        held_out_curve=curve,
        accuracy=metrics["masked_lm_accuracy"],
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


def _checkpoint_steps(folder: Path) -> list[int]:
    indices = (folder / "model").glob("model.ckpt-*.index")
    return sorted(int(path.stem.rsplit("-", 1)[1]) for path in indices)


def _batches(path: Path) -> Iterator[dict]:
    from bert_data.reader import ReaderConfig, iterate_batches

    return iterate_batches(ReaderConfig(input_patterns=str(path), batch_size=256))


def _masked_tokens(path: Path) -> np.ndarray:
    """Return Return int64[n], the tokens to predict in a file of records."""
    tokens = []
    for batch in _batches(path):
        weights = batch[fields.MASKED_LM_WEIGHTS.name].numpy()
        tokens.append(batch[fields.MASKED_LM_IDS.name].numpy()[weights > 0])
    return np.concatenate(tokens).astype(np.int64)


def _train_curve(folder: Path) -> Points:
    """Return the losses of the reported steps, from TensorBoard's file."""
    import tensorflow as tf

    points = []
    for path in sorted((folder / "model").glob("events*")):
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            event = tf.compat.v1.Event.FromString(record)
            for value in event.summary.value:
                if value.tag == "masked_lm_loss":
                    points.append((float(event.step), float(tf.make_ndarray(value.tensor))))
    return sorted(points)


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
