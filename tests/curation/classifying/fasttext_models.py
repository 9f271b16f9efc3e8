"""fastText's models by formula: the bytes of their files."""

import dataclasses
import struct
import tempfile

import fasttext_pybind
import numpy as np

LOSSES = {"hierarchical": 1, "negative": 2, "softmax": 3, "one_vs_all": 4}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
    """A model whose numbers follow from its seed.

    Attributes:
      kept: pairs of a bucket and its row, if n-grams were pruned.
      parts: numbers in a part of a quantized vector; 0: plain matrices.
    """

    words: tuple[str, ...] = ("the", "</s>", "cat", "sat", "水", "naïve")
    labels: tuple[str, ...] = ("__label__hq", "__label__cc", "__label__x")
    dim: int = 5
    loss: str = "softmax"
    word_ngrams: int = 1
    num_buckets: int = 50
    characters: tuple[int, int] = (0, 0)
    kept: tuple[tuple[int, int], ...] | None = None
    parts: int = 0
    has_norms: bool = True
    seed: int = 0

    def num_rows(self) -> int:
        """Rows of the first matrix."""
        return len(self.words) + (self.num_buckets if self.kept is None else len(self.kept))

    def counts(self) -> list[int]:
        """The occurrences of each label."""
        return [10 * 2 ** (len(self.labels) - at) for at in range(len(self.labels))]

    def matrices(self) -> tuple[bytes, bytes, np.ndarray, np.ndarray]:
        """Bytes and values of both matrices."""
        draw = np.random.default_rng(self.seed)
        outputs = draw.normal(size=(len(self.labels), self.dim)).astype(np.float32)
        plain = struct.pack("<?qq", False, *outputs.shape) + outputs.tobytes()
        shape = self.num_rows(), self.dim
        if not self.parts:
            vectors = draw.normal(size=shape).astype(np.float32)
            return struct.pack("<?qq", False, *shape) + vectors.tobytes(), plain, vectors, outputs
        starts = range(0, self.dim, self.parts)
        codes = draw.integers(0, 256, (shape[0], len(starts)), np.uint8)
        last = self.dim - starts[-1]
        head = struct.pack("<??qqi", True, self.has_norms, *shape, codes.size) + codes.tobytes()
        head += struct.pack("<4i", self.dim, len(starts), self.parts, last)
        tables = [draw.normal(size=(256, min(self.parts, self.dim - s))) for s in starts]
        head += b"".join(table.astype(np.float32).tobytes() for table in tables)
        vectors = np.hstack([table[codes[:, at]] for at, table in enumerate(tables)])
        vectors = vectors.astype(np.float32)
        if self.has_norms:
            norm_codes = draw.integers(0, 256, shape[0], np.uint8)
            norms = draw.uniform(0.5, 2, 256).astype(np.float32)
            head += norm_codes.tobytes() + struct.pack("<4i", 1, 1, 1, 1) + norms.tobytes()
            vectors *= norms[norm_codes][:, None]
        return head, plain, vectors, outputs

    def to_bytes(self) -> bytes:
        """The file."""
        loss = LOSSES[self.loss]
        head = struct.pack("<2i", 793712314, 12)
        head += struct.pack("<4i", self.dim, 5, 5, 1)
        head += struct.pack("<5i", 5, self.word_ngrams, loss, 3, self.num_buckets)
        head += struct.pack("<3id", *self.characters, 100, 0.0001)
        num_names = len(self.words) + len(self.labels)
        num_kept = -1 if self.kept is None else len(self.kept)
        head += struct.pack("<3i2q", num_names, len(self.words), len(self.labels), 99, num_kept)
        for word in self.words:
            head += word.encode() + b"\0" + struct.pack("<qb", 7, 0)
        for label, count in zip(self.labels, self.counts(), strict=True):
            head += label.encode() + b"\0" + struct.pack("<qb", count, 1)
        for pair in self.kept or ():
            head += struct.pack("<2i", *pair)
        vectors, outputs, _, _ = self.matrices()
        return head + vectors + outputs

    def scores(self, text: str) -> dict[str, float]:
        """The probability of each label, as fastText has it."""
        model = fasttext_pybind.fasttext()
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            file.write(self.to_bytes())
            file.flush()
            model.loadModel(file.name)
        found = {label: p for p, label in model.predict(f"{text}\n", -1, 0.0, "strict")}
        return {label: min(1, found.get(label, 0)) for label in self.labels}
