"""The words to which sentencepiece gives other ids than `tokenizers`, with the same Unigram pieces.

    python benchmarks/unigram.py xlnet.tokenizer.json uni.json > benchmarks/results/unigram.md

The pieces and scores of each file are written as a model of sentencepiece that leaves texts alone;
both libraries get the words that the file's own normalizer and pre-tokenizer make of real text.
"""

import json
import sys
from pathlib import Path
from typing import Any

import sentencepiece
from machine import describe_machine
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "corpora"
TEXTS = ("wikitext", "udhr", "movie_reviews")
_MAX_WORDS = 150_000
_UNIGRAM, _NORMAL, _UNKNOWN, _USER_DEFINED = 1, 1, 2, 4


def as_sentencepiece(definition: dict[str, Any]) -> Any:
    """Return a processor with the pieces of a tokenizer.json."""
    added = {token["content"] for token in definition["added_tokens"]}
    unknown = definition["model"]["unk_id"]
    model = sentencepiece_model_pb2.ModelProto()
    for number, (piece, score) in enumerate(definition["model"]["vocab"]):
        kind = _UNKNOWN if number == unknown else _USER_DEFINED if piece in added else _NORMAL
        model.pieces.add(piece=piece, score=score, type=kind)
    trainer, rules = model.trainer_spec, model.normalizer_spec
    trainer.model_type, trainer.unk_id = _UNIGRAM, unknown
    trainer.unk_piece = model.pieces[unknown].piece
    trainer.bos_id = trainer.eos_id = trainer.pad_id = -1
    rules.name, rules.add_dummy_prefix, rules.remove_extra_whitespaces = "identity", False, False
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model.SerializeToString())
    return processor


def words_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the different words of a text, in their order."""
    words: dict[str, None] = {}
    for line in filter(str.strip, (SHARED / f"{text}.txt").read_text("utf-8").splitlines()):
        normal = tokenizer.normalizer.normalize_str(line) if tokenizer.normalizer else line
        words.update((word, None) for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
        if len(words) > _MAX_WORDS:
            break
    return list(words)


def main() -> None:
    """Print the table."""
    print(f"Made by benchmarks/unigram.py. {describe_machine()}.\n")
    print("| file | text | different words | with other ids | such as |\n|---|---|--:|--:|---|")
    for path in sys.argv[1:]:
        definition = json.loads(Path(path).read_text("utf-8"))
        tokenizer, other = Tokenizer.from_str(json.dumps(definition)), as_sentencepiece(definition)
        for text in TEXTS:
            words = words_of(tokenizer, text)
            ids = ([token.id for token in tokenizer.model.tokenize(word)] for word in words)
            pairs = zip(words, ids, other.Encode(words), strict=True)
            differ = [word for word, mine, others in pairs if mine != others]
            shown = ", ".join(f"`{word}`" for word in differ[:3])
            print(f"| {Path(path).name} | {text} | {len(words):,} | {len(differ)} | {shown} |")


if __name__ == "__main__":
    main()
