"""fastText's models by formula: the bytes of their files, and a plain oracle for their scores."""

import dataclasses
import math
import struct

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

    def score(self, text: str, label: int) -> float:
        """The probability of a label."""
        _, _, vectors, outputs = self.matrices()
        rows = list(self._rows(text))
        if not rows:
            return 0.0
        mean = np.mean([vectors[row].astype(np.float64) for row in rows], axis=0)
        products = outputs.astype(np.float64) @ mean
        if self.loss == "softmax":
            shares = np.exp(products - products.max())
            return shares[label] / shares.sum() + 1e-5
        if self.loss != "hierarchical":
            # fastText looks the logistic function up at multiples of 1/32.
            return 1 / (1 + math.exp(-math.floor(products[label] * 32) / 32)) + 1e-5
        return math.prod(
            1 / (1 + math.exp(-products[node] if side else products[node])) + 1e-5
            for node, side in self._path(label)
        )

    def _path(self, label: int) -> list[tuple[int, int]]:
        """The inner nodes above a label, with its side of each.

        Each label is more frequent than all rarer ones together, so node n joins the node before
        it (or the rarest label) on side 0 and one label on side 1.
        """
        last = len(self.labels) - 1
        num_rarer = last - label
        own = [(num_rarer - 1, 1)] if num_rarer else []
        return own + [(node, 0) for node in range(num_rarer, last)]

    def _rows(self, text: str):
        tokens = []
        for token in [*text.encode().replace(b"\0", b" ").split(), b"</s>"]:
            tokens.append(token)
            if token == b"</s>":
                break
        words = [word.encode() for word in self.words]
        labels = [label.encode() for label in self.labels]
        hashes = []
        for token in tokens:
            is_known = token in words
            if token in labels or (not is_known and token.startswith(b"__label__")):
                continue
            if is_known:
                yield words.index(token)
            if token != b"</s>":
                yield from self._ngrams(token.decode())
            hashes.append((fnv(token) ^ 2**31) - 2**31)
        for first in range(len(hashes)):
            hashed = hashes[first]
            for last in range(first + 1, min(len(hashes), first + self.word_ngrams)):
                hashed = (hashed * 116049371 + hashes[last]) % 2**64
                yield from self._bucket(hashed)

    def _ngrams(self, word: str):
        shortest, longest = self.characters
        word = f"<{word}>"
        for first in range(len(word)):
            for length in range(max(shortest, 1), longest + 1):
                end = first + length
                if end <= len(word) and not (length == 1 and (first == 0 or end == len(word))):
                    yield from self._bucket(fnv(word[first:end].encode()))

    def _bucket(self, hashed: int):
        bucket = hashed % self.num_buckets
        if self.kept is None:
            yield len(self.words) + bucket
        elif bucket in dict(self.kept):
            yield len(self.words) + dict(self.kept)[bucket]


def fnv(data: bytes) -> int:
    """FNV-1a of signed bytes."""
    hashed = 2166136261
    for byte in data:
        signed = byte - 256 if byte > 127 else byte
        hashed = ((hashed ^ (signed % 2**32)) * 16777619) % 2**32
    return hashed
