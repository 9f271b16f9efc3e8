r"""Train small models of Hugging Face transformers on a token store, without records.

    bert-data tokenize --input_file=text.txt --vocab_file=vocab.txt --output_prefix=store
    python -m examples.torch_modernbert --store=store --vocab_file=vocab.txt --model=modernbert

modernbert  ModernBertForMaskedLM on flat batches: one row without padding, and 30% of tokens masked
bert        BertForMaskedLM on packed batches, whose mask keeps the sequences of a row apart

Both need torch and transformers. --checkpoint names a file from which a stopped run goes on, with
any number of --num_workers.
"""

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import transformers
from absl import logging

from bert_data.recipes.recipe import Recipe, Stage, StageMasking
from bert_data.tokens.tokenizer_file import read_vocabulary
from bert_data.torch import RecipeDataset, for_transformers

if TYPE_CHECKING:
    from bert_data.tokens.vocabulary import TokenTable

LENGTH = 128


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--store", required=True, help="prefix of a token store")
    parser.add_argument("--vocab_file", required=True, help="the store's vocabulary")
    parser.add_argument("--model", choices=["modernbert", "bert"], default="modernbert")
    parser.add_argument("--steps", type=int, default=300, help="batches of the recipe")
    parser.add_argument("--stop_after", type=int, help="batches of this run")
    parser.add_argument("--batch_tokens", type=int, default=4096)
    parser.add_argument("--hidden_size", type=int, default=128, help="a multiple of 64")
    parser.add_argument("--num_workers", type=int, default=0, help="processes that make batches")
    parser.add_argument("--checkpoint", help="file of the model and the place in the recipe")
    return parser.parse_args(arguments)


def make_recipe(options: argparse.Namespace) -> Recipe:
    """Return what is read: flat batches for ModernBERT, packed ones for BERT."""
    is_modern = options.model == "modernbert"
    stage = Stage(
        steps=options.steps,
        objective="none",
        max_seq_length=LENGTH,
        batch_tokens=options.batch_tokens,
        batching="flat" if is_modern else "packed",
        masking=StageMasking(rate=0.3 if is_modern else 0.15),
    )
    return Recipe(vocab_file=options.vocab_file, stores={"text": options.store}, stages=(stage,))


def make_model(options: argparse.Namespace, vocabulary: "TokenTable", *, flash: bool) -> Any:
    """Return a small model with random weights."""
    sizes = {
        "vocab_size": vocabulary.size,
        "hidden_size": options.hidden_size,
        "intermediate_size": 4 * options.hidden_size,
        "num_hidden_layers": 4,
        "num_attention_heads": options.hidden_size // 64,
        "max_position_embeddings": LENGTH,
        "pad_token_id": vocabulary.pad_id,
    }
    if options.model == "bert":
        no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        return transformers.BertForMaskedLM(transformers.BertConfig(**sizes, **no_dropout))
    ends = {
        name: getattr(vocabulary, f"{kind}_id")
        for kind in ("cls", "sep")
        for name in (f"{kind}_token_id", "bos_token_id" if kind == "cls" else "eos_token_id")
    }
    config = transformers.ModernBertConfig(
        **sizes, **ends, local_attention=64, sparse_prediction=True
    )
    config._attn_implementation = "flash_attention_2" if flash else "sdpa"
    return transformers.ModernBertForMaskedLM(config)


def loss_of(model: Any, arrays: dict[str, Any], *, flash: bool) -> torch.Tensor:
    """Return the loss of a batch; masks are made on the model's device."""
    moved = {name: each.to(model.device, non_blocking=True) for name, each in arrays.items()}
    window = getattr(model.config, "sliding_window", None)
    batch = for_transformers(moved, attention="flash" if flash else "sdpa", window=window)
    with torch.autocast(model.device.type, torch.bfloat16, enabled=flash):
        return model(**batch).loss


def train(options: argparse.Namespace) -> list[float]:
    """Train to the end of the recipe; return the losses of this run's batches."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    flash = device == "cuda" and transformers.utils.is_flash_attn_2_available()
    torch.manual_seed(1)
    model = make_model(options, read_vocabulary(options.vocab_file), flash=flash).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    loader = RecipeDataset(make_recipe(options)).loader(
        num_workers=options.num_workers, pin_memory=device == "cuda"
    )
    states = {"model": model, "optimizer": optimizer, "data": loader}
    if options.checkpoint and os.path.exists(options.checkpoint):
        saved = torch.load(options.checkpoint)
        for name, each in states.items():
            each.load_state_dict(saved[name])
    losses = []
    for arrays in loader:
        loss = loss_of(model, arrays, flash=flash)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if len(losses) % 20 == 0:
            logging.info("%d batches, loss %.3f", len(losses), sum(losses[-20:]) / 20)
        if len(losses) == options.stop_after:
            break
    if options.checkpoint:
        states_now = {name: each.state_dict() for name, each in states.items()}
        torch.save(states_now, options.checkpoint)
    return losses


def main() -> None:
    """Train, and say how the loss fell."""
    logging.set_verbosity(logging.INFO)
    losses = train(parse())
    if losses:
        logging.info("%d batches, loss %.3f -> %.3f", len(losses), losses[0], losses[-1])


if __name__ == "__main__":
    main()
