"""A BERT-base in torch fed by a recipe: how long the accelerator waits for data, as Markdown.

    python benchmarks/accelerator.py --store=STORE --vocab_file=vocab.txt > accelerator.md

Needs NumPy, numba, pyarrow, torch and transformers beside this package, and no TensorFlow. The
process runs on two CPU cores. A model of BERT-base's size trains in bfloat16; the head computes the
predicted positions alone. Each way trains on batches as they are read, and on the first of them
again and again, in turn: what the latter saves is the accelerator's waiting for data, and for
shapes that are new to it. "next" is the share of the time that reading alone takes of the thread.
"""

import argparse
import itertools
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

NUM_CORES = 2


def batches_of(
    store: str, vocab_file: str, length: int, rows: int, batching: str
) -> Iterator[dict[str, Any]]:
    """The batches of a recipe that never ends in practice."""
    from bert_data.recipes.recipe import Recipe, Stage, StageMasking
    from bert_data.recipes.run_batches import iterate_recipe_arrays

    stage = Stage(
        tokens=1e12, objective="none", max_seq_length=length, batch_size=rows, batching=batching,
        masking=StageMasking(rate=0.15),
    )  # fmt: skip
    return iterate_recipe_arrays(
        Recipe(vocab_file=vocab_file, stores={"store": store}, stages=(stage,))
    )


def make_step(length: int, device: str) -> Any:
    """A function that trains on a batch, without waiting for the device."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(max_position_embeddings=length, attn_implementation="sdpa")
    model = BertForMaskedLM(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device == "cuda")

    def step(batch: dict[str, Any]) -> None:
        tensors = {
            name: torch.from_numpy(np.ascontiguousarray(values)).pin_memory().to(
                device, non_blocking=True
            )
            for name, values in batch.items()
        }  # fmt: skip
        ids, mask = tensors["input_ids"].long(), tensors["input_mask"]
        numbers = tensors.get("instance_ids")
        if numbers is not None:
            mask = ((numbers[:, :, None] == numbers[:, None, :]) & (numbers > 0)[:, :, None])[
                :, None
            ]
            mask = torch.zeros(mask.shape, dtype=torch.bfloat16, device=device).masked_fill(
                ~mask, torch.finfo(torch.bfloat16).min
            )
        positions = tensors.get("position_ids")
        with torch.autocast(device, torch.bfloat16):
            hidden = model.bert(
                ids, attention_mask=mask,
                position_ids=None if positions is None else positions.long(),
            ).last_hidden_state  # fmt: skip
            places = tensors["masked_lm_positions"].long()
            chosen = hidden.gather(1, places[:, :, None].expand(-1, -1, hidden.shape[-1]))
            logits = model.cls(chosen).float()
        losses = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), tensors["masked_lm_ids"].long().flatten(), reduction="none"
        )
        weights = tensors["masked_lm_weights"].flatten()
        loss = (losses * weights).sum() / weights.sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def seconds(
    step: Any, batches: Iterator[dict[str, Any]], num_steps: int, wait: Any
) -> tuple[float, float]:
    """Seconds of so many steps, and of these the ones that reading took."""
    wait()
    begin, reading = time.perf_counter(), 0.0
    for _ in range(num_steps):
        before = time.perf_counter()
        batch = next(batches)
        reading += time.perf_counter() - before
        step(batch)
    wait()
    return time.perf_counter() - begin, reading


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--vocab_file", required=True)
    parser.add_argument("--num_steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:NUM_CORES])
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    name = torch.cuda.get_device_name() if device == "cuda" else "no accelerator"
    print(f"# A recipe feeds {name}\n\n{__doc__.splitlines()[0]} torch {torch.__version__}.\n")
    print("| length | rows | batching | steps/s | again | tokens/s | waits | next | CPU s a step |")
    print("|---|---|---|---|---|---|---|---|---|")
    for length, rows, batching in (
        (128, 256, "packed"), (512, 64, "packed"), (128, 256, "buckets"), (512, 64, "buckets"),
    ):  # fmt: skip
        step = make_step(length, device)
        batches = batches_of(options.store, options.vocab_file, length, rows, batching)
        first = list(itertools.islice(batches, 8))
        tokens = statistics.mean(int(batch["input_mask"].sum()) for batch in first)
        seconds(step, iter(first), 8, wait)
        fed, same, used, read = [], [], [], []
        for _ in range(options.rounds):
            cpu = time.process_time()
            whole, reading = seconds(step, batches, options.num_steps, wait)
            used.append(time.process_time() - cpu)
            fed.append(whole)
            read.append(reading / whole)
            same.append(seconds(step, itertools.cycle(first), options.num_steps, wait)[0])
        one, other = statistics.median(fed), statistics.median(same)
        waits, cpu = max(0.0, 1 - other / one), statistics.median(used) / options.num_steps
        print(
            f"| {length} | {rows} | {batching} | {options.num_steps / one:.1f} |"
            f" {options.num_steps / other:.1f} | {tokens * options.num_steps / one:,.0f} |"
            f" {waits:.1%} | {statistics.median(read):.1%} | {cpu:.4f} |",
            flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
