"""The documents of a token store, from which GPT samples are made, and their configuration."""

import dataclasses
import functools
import hashlib
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Annotated, Any

from bert_data.settings import Within, check_settings
from bert_data.storage import exists, read_status
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_files import noted_words, read_notes, store_paths
from bert_data.tokens.tokenizer_config import PIECES
from bert_data.tokens.verifying import spot_check, verify_store

SPLITS = ("train", "valid", "test")

DocumentRange = tuple[int, int]


def parse_split(split: str) -> list[float]:
    """Parse the shares of the three splits, such as "969,30,1", normalised; missing ones are 0."""
    try:
        shares = [float(part) for part in split.split(",")]
    except ValueError:
        shares = []
    is_valid = 1 <= len(shares) <= len(SPLITS) and all(0 <= share < math.inf for share in shares)
    # Added one by one: since Python 3.12, `sum` rounds differently.
    total = functools.reduce(operator.add, shares, 0.0)
    if not is_valid or not 0 < total < math.inf:
        raise ValueError(
            f"split is {split!r}; one to three numbers >= 0 that are not all 0 are allowed, such "
            "as '969,30,1' for train, valid and test"
        )
    return [share / total for share in shares] + [0.0] * (len(SPLITS) - len(shares))


def split_documents(split: str, num_documents: int) -> tuple[DocumentRange | None, ...]:
    """Return the range of documents of each split; None for a share of 0.

    A split with a share may be empty if there are few documents.
    """
    bounds = list(itertools.accumulate(parse_split(split), initial=0.0))
    return tuple(
        (round(first * float(num_documents)), round(last * float(num_documents)))
        if last > first
        else None
        for first, last in itertools.pairwise(bounds)
    )


EOD_OPTIONS = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")
"""Fields of `GptConfig` that look at ends of documents."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GptConfig:
    """Configuration of GPT data sets; names are Megatron-LM's where it has them.

    Attributes:
      seq_length: tokens per sample.
      seed: seed for the order of documents and samples.
      split: shares of the documents for train, valid and test, such as 969,30,1.
      add_extra_token_to_sequence: draw one more token per sample, the label of the last position.
      drop_last_partial_validation_sequence: drop the last tokens of the valid split if they do not
        fill a sample, instead of padding.
      eod_id: id of the end-of-document token, which the next three settings need.
      reset_position_ids: restart positions at 0 after each end-of-document token.
      reset_attention_mask: let tokens attend to their own document only.
      eod_mask_loss: do not predict the token after the end of a document.
      cache_dir: folder where the indices are kept.
      verify: first check every byte of the stores, by the checksums in their notes, and of the
        indices in `cache_dir`, instead of their sizes and samples of their bytes.
    """

    seq_length: Annotated[int, Within(1, 2**31 - 2)]
    seed: Annotated[int, Within(0, 2**32 - 1)] = 1234
    split: str = "1"
    add_extra_token_to_sequence: bool = True
    drop_last_partial_validation_sequence: bool = True
    eod_id: Annotated[int, Within(0)] | None = None
    reset_position_ids: bool = False
    reset_attention_mask: bool = False
    eod_mask_loss: bool = False
    cache_dir: str | None = None
    verify: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        parse_split(self.split)
        for name in EOD_OPTIONS:
            if getattr(self, name) and self.eod_id is None:
                raise ValueError(f"{name} needs `eod_id`, the id of the end-of-document token")

    @property
    def sample_tokens(self) -> int:
        """Tokens that a sample is drawn with."""
        return self.seq_length + int(self.add_extra_token_to_sequence)

    def drops_last_partial(self, split: str) -> bool:
        """Whether a split has whole samples only."""
        return split != "valid" or self.drop_last_partial_validation_sequence


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlendConfig:
    """The share of each store in a blend.

    Attributes:
      weights: weight of each data set in the blend, separated by commas, with any sum; its
        partitions share it in proportion to their tokens. Without weights, every sample of every
        store occurs once, evenly interleaved.
      num_samples: number of samples for train, valid and test, such as 100000,1000; a split with 0
        or no number is left out. Stores with weights, or a single one, are repeated for as many
        epochs as necessary. By default, whole epochs of every split.
    """

    weights: Sequence[float] | None = None
    num_samples: Sequence[int] | None = None


CHECKED_BOUNDS = 1 << 20  # at a time
_MAX_DOCUMENTS = 2**31 - 1  # their numbers are int32


class StoreDocuments:
    """An open token store in which each sequence is a document.

    Like Megatron-LM, this ignores documents without any sequence (whose writer repeats the
    boundary).

    Attributes:
      identity: sizes, times of change and inodes of the files; another store has another one.
    """

    def __init__(self, prefix: str, *, verify: bool = False) -> None:
        """Open a store."""
        if prefix.endswith((".bin", ".idx")) and not exists(f"{prefix}.idx"):
            raise ValueError(f"{prefix}: name a token store without .bin and .idx")
        self.prefix = prefix
        # Before they are opened: what replaces them afterwards is not taken for what was read.
        statuses = [read_status(path) for path in store_paths(prefix)]
        self.identity = [dataclasses.astuple(status) if status else None for status in statuses]
        self.store: TokenStore = open_store(prefix)
        self.store.refuse_modes(prefix)
        if verify:
            verify_store(prefix)
        else:
            spot_check(prefix, self.store)
        if not self.num_documents:
            raise ValueError(f"{prefix}: the token store holds no documents")
        if self.num_documents > _MAX_DOCUMENTS:
            raise ValueError(
                f"{prefix}: {self.num_documents:,} documents; {_MAX_DOCUMENTS:,} are allowed"
            )
        self._check_level()
        words = noted_words([read_notes(prefix)])
        if words != PIECES:
            raise ValueError(
                f"{prefix}: a token store with `words={words}`, whose ids say what a word is; GPT"
                f" samples need one with `words={PIECES}`"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_again, (self.prefix, self.identity)

    def _check_level(self) -> None:
        bounds = self.store.documents
        for start in range(0, bounds.size - 1, CHECKED_BOUNDS):
            part = bounds[start : start + CHECKED_BOUNDS + 1]
            if (part[1:] - part[:-1] > 1).any():
                raise ValueError(
                    f"{self.prefix}: a sentence-level token store; GPT samples need a "
                    "document-level one (one sequence per document)"
                )

    @property
    def num_documents(self) -> int:
        """Sequences in the store."""
        return self.store.lengths.size

    def count_tokens(self, documents: DocumentRange) -> int:
        """Return the number of tokens in a range of documents."""
        return int(self.store.lengths[slice(*documents)].sum(dtype="int64"))

    def of_split(self, split: str, name: str) -> DocumentRange:
        """Return the documents of the split called `name`, one of `SPLITS`."""
        if name not in SPLITS:
            raise ValueError(f"split {name!r} is not one of {', '.join(SPLITS)}")
        documents = split_documents(split, self.num_documents)[SPLITS.index(name)]
        if documents is None:
            raise ValueError(f"the {name} split has a share of 0 in {split!r}")
        if not self.count_tokens(documents):
            raise ValueError(
                f"the {name} split of {self.prefix} is empty: {split!r} gives it "
                f"{documents[1] - documents[0]:,} of {self.num_documents:,} documents and no token"
            )
        return documents

    @functools.cached_property
    def lengths_sha256(self) -> str:
        """Digest of the documents' lengths, on which indices depend; they depend on no token."""
        return hashlib.sha256(self.store.lengths.data).hexdigest()


def _open_again(prefix: str, identity: list[Any]) -> StoreDocuments:
    """Open in one process what another one has open."""
    documents = StoreDocuments(prefix)
    if documents.identity != identity:
        raise ValueError(f"{prefix}: the token store was replaced while samples were made from it")
    return documents
