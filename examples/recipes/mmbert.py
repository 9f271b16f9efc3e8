"""Write the recipe of mmBERT for the token stores of a folder: three phases, ever more languages.

    python -m examples.recipes.mmbert data > mmbert.yaml

The 60 largest stores are read first, then 110, then all. A store of n tokens has the weight n**0.7,
then n**0.5, then n**0.3, and fewer tokens are masked in each phase (Marone et al. 2025, arXiv
2509.06888).
"""

import sys
from collections.abc import Mapping
from pathlib import Path

HEAD = "seed: 1\ntokenizer_file: tokenizer.json\nstores:\n"
PHASES = (  # stores, power of the weights, what the stage says
    (
        60,
        0.7,
        "  - tokens: 2.3e12\n"
        "    objective: none\n"
        "    max_seq_length: 1024\n"
        "    batching: packed\n"
        "    batch_tokens: 4_718_592\n"
        "    masking: {rate: 0.30}\n",
    ),
    (110, 0.5, "  - tokens: 6e11\n    max_seq_length: 8192\n    masking: {rate: 0.15}\n"),
    (None, 0.3, "  - tokens: 1e11\n    masking: {rate: 0.05}\n"),
)


def make_recipe(stores: Mapping[str, str], num_tokens: Mapping[str, int]) -> str:
    """Return the recipe in YAML; both arguments are by name."""
    by_size = sorted(stores, key=lambda name: (-num_tokens[name], name))
    parts = [HEAD, *(f"  {name}: {stores[name]}\n" for name in stores), "stages:\n"]
    for most, power, said in PHASES:
        chosen = by_size[:most]
        total = sum(num_tokens[name] ** power for name in chosen)
        weights = (f"      {name}: {num_tokens[name] ** power / total:.3g}\n" for name in chosen)
        parts += [said, "    mixture:\n", *weights]
    return "".join(parts)


def main() -> None:
    """Write the recipe to standard output."""
    files = {path.stem: path for path in sorted(Path(sys.argv[1]).glob("*.bin"))}
    stores = {name: str(path.with_suffix("")) for name, path in files.items()}
    sizes = {name: path.stat().st_size for name, path in files.items()}  # as good as tokens
    sys.stdout.write(make_recipe(stores, sizes))


if __name__ == "__main__":
    main()
