"""Tokenizers of every kind, trained here on a few odd texts."""

import json

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from bert_data.tokens import tiktoken_ranks as rules
from bert_data.tokens.backends import DefinitionFile
from bert_data.tokens.tokenizer_config import FASTOKENS, TOKENIZERS
from tests.tokens.json_files import TEXT

MIX = [
    *TEXT,
    "I'm sure you'll don't 'tis, HTMLParser's camelCase; x = f(y)[0] // z\n",
    "1234567 ١٢٣ ½① 3.14 2026-11-22 50%",
    "ÉCOLE école straße İstanbul ǅ ǆ ΣΑΣ ﬁn e\u0301 A\u030a",
    "中文、日本語のテキスト 한국어 กขค ا١٢",
    "👩\u200d💻🇫🇷 …—“quoted”\u00a0\u3000x\u2028y\u200b",
    "<|endoftext|><mask> <s>hi</s> <mask>x",
]


def byte_level(*splits, prefix=False, normalizer=None):
    """Byte-level BPE, trained here; its ByteLevel splits as GPT-2 does if nothing else splits."""
    tokenizer = Tokenizer(models.BPE())
    last = pre_tokenizers.ByteLevel(
        add_prefix_space=prefix,
        use_regex=not any(isinstance(s, pre_tokenizers.Split) for s in splits),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, last]) if splits else last
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    train(tokenizer, sorted(pre_tokenizers.ByteLevel.alphabet()))
    add_odd_tokens(tokenizer)
    return tokenizer


def metaspace():
    """SentencePiece-style BPE with byte fallback."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    train(tokenizer, [], ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))])
    definition = json.loads(tokenizer.to_str())
    definition["added_tokens"] = [
        token for token in definition["added_tokens"] if not token["content"].startswith("<0x")
    ]
    return Tokenizer.from_str(json.dumps(definition))


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=220, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    tokenizer.train_from_iterator(MIX, trainer)
    return tokenizer


def train(tokenizer, alphabet, special=("<s>", "</s>", "<|endoftext|>")):
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=[*special], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(MIX * 3, trainer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])


def add_odd_tokens(tokenizer):
    tokenizer.add_tokens([AddedToken("Straße", normalized=True), AddedToken("z", single_word=True)])


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


TRAINED = {
    "GPT-2": (FASTOKENS, lambda: byte_level()),
    "RoBERTa": (FASTOKENS, lambda: byte_level(prefix=True)),
    "cl100k, Llama 3": (FASTOKENS, lambda: byte_level(split(rules.GPT4))),
    "Qwen": (FASTOKENS, lambda: byte_level(split(rules.QWEN), normalizer=normalizers.NFC())),
    "o200k": (FASTOKENS, lambda: byte_level(split(rules.O200K, "removed", invert=True))),
    "digits": (FASTOKENS, lambda: byte_level(pre_tokenizers.Digits(individual_digits=True))),
    "lower": (FASTOKENS, lambda: byte_level(normalizer=normalizers.Lowercase())),
    "Metaspace": (TOKENIZERS, metaspace),
    "Unigram": (TOKENIZERS, unigram),
    "own pattern": (TOKENIZERS, lambda: byte_level(split(r"\w+|\W"))),
    "NFKC": (TOKENIZERS, lambda: byte_level(normalizer=normalizers.NFKC())),
}


def as_file(definition, path="t.json"):
    return DefinitionFile(
        path, (definition if isinstance(definition, str) else json.dumps(definition)).encode()
    )
