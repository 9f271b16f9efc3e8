"""Token stores and what reads them, caches of GPT indices, vocabularies."""

import shutil
from pathlib import Path
from typing import Any

from bert_data.gpt.dataset import GptDataset
from bert_data.gpt.gpt_config import GptConfig
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.tokens.hugging_face_files import tokenizer_json
from bert_data.tokens.merging import merge_stores
from bert_data.tokens.store import open_store
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import load_tokenizer
from bert_data.tokens.verifying import verify_store
from tests.damage.lab import Kind
from tests.damage.materials import stories, write_text, write_vocabulary
from tests.goldens.inputs import VOCABULARIES

_IDS = "token ids have no checksum but that in the notes, which --verify compares"
_BOUNDS = "where documents begin is not said twice; --verify compares the checksum in the notes"
_NOTES = "they say what made the store; --verify compares their checksums with the files"
_WORDS = "it is a list of tokens, and nothing else says which ones"


def _make(folder: Path, variant: int, prefix: str = "s", level: str = "sentence") -> None:
    make_stores(
        StoreConfig(
            input_file=write_text(folder, variant),
            output_prefix=f"{folder}/{prefix}",
            vocab_file=write_vocabulary(folder.parent / "vocab.txt"),
            level=level,
        )
    )


def _make_documents(folder: Path, variant: int) -> None:
    _make(folder, variant, level="document")


def _make_two(folder: Path, variant: int) -> None:
    _make(folder, variant)
    _make(folder, variant + 2, "t")


def _make_cache(folder: Path, variant: int) -> None:
    _make_documents(folder, variant)
    _read_samples(folder)


def _verify(folder: Path) -> Any:
    verified = verify_store(f"{folder}/s")
    store = open_store(f"{folder}/s")
    return [verified.max_id, store.ids, store.lengths, store.offsets, store.documents]


def _merge(folder: Path) -> Any:
    try:
        merge_stores([f"{folder}/s", f"{folder}/t"], f"{folder}/out")
    except BaseException:
        if list(folder.glob("*out*")):
            raise RuntimeError("a failed merge left files") from None
        raise
    return [(folder / f"out.{ending}").read_bytes() for ending in ("bin", "idx")]


def _create(folder: Path) -> Any:
    create_dataset(
        DatasetConfig(
            input_file=f"{folder}/s",
            vocab_file=f"{folder.parent}/vocab.txt",
            output_file=f"{folder}/records",
            instances=InstanceConfig(max_seq_length=16, max_predictions_per_seq=2, dupe_factor=1),
            num_workers=1,
        )
    )
    return (folder / "records").read_bytes()


def _read_samples(folder: Path) -> Any:
    config = GptConfig(seq_length=16, cache_dir=f"{folder}/cache")
    dataset = GptDataset(f"{folder}/s", config, num_samples=50)
    return dataset.texts(range(len(dataset)))


def _make_vocabulary(folder: Path, variant: int) -> None:
    path = write_vocabulary(folder / "vocab.txt")
    if variant:
        shutil.copy(path, folder.parent / "vocab.txt")
        Path(path).write_text("".join(f"{t}\n" for t in VOCABULARIES["twins"]()))


def _make_tokenizer(folder: Path, variant: int) -> None:
    tokens = VOCABULARIES["twins" if variant else "pieces"]()
    distinct = [*dict.fromkeys(tokens)]
    (folder / "tokenizer.json").write_text(tokenizer_json(distinct, do_lower_case=True))


def _tokenize(folder: Path) -> Any:
    vocabulary, definition = folder / "vocab.txt", folder / "tokenizer.json"
    is_words = vocabulary.exists()
    tokenizer = load_tokenizer(
        str(vocabulary) if is_words else None, None if is_words else str(definition)
    )
    lines = [sentence for story in stories(0) for sentence in story]
    if isinstance(tokenizer, FastTokenizer):
        block = tokenizer.tokenize_block("\n".join(lines).encode())
    else:
        block = tokenizer.tokenize_sequences(lines, [len(lines)])
    return [block.ids, block.sentence_lengths]


KINDS = (
    Kind(name="token store, verified", make=_make, damaged=["s.*"], read=_verify),
    Kind(
        name="token stores, merged",
        make=_make_two,
        damaged=["s.*"],
        read=_merge,
        unprotected={"s.bin": _IDS, "s.idx": _BOUNDS, "*.json": _NOTES},
    ),
    Kind(
        name="token store, for instances",
        make=_make,
        damaged=["s.*"],
        read=_create,
        unprotected={"s.bin": _IDS, "s.idx": _BOUNDS, "*.json": _NOTES},
    ),
    Kind(
        name="token store, for samples",
        make=_make_documents,
        damaged=["s.*"],
        read=_read_samples,
        unprotected={"s.bin": _IDS},
    ),
    Kind(name="cache of GPT indices", make=_make_cache, damaged=["cache/*"], read=_read_samples),
    Kind(
        name="vocab.txt",
        make=_make_vocabulary,
        damaged=["vocab.txt"],
        read=_tokenize,
        unprotected={"vocab.txt": _WORDS},
    ),
    Kind(
        name="tokenizer.json",
        make=_make_tokenizer,
        damaged=["*.json"],
        read=_tokenize,
        unprotected={"*.json": _WORDS},
    ),
)
