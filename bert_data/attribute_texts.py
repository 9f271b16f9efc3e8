"""The texts under "Attributes:" in the docstring of a class."""

import inspect


def attribute_texts(config: type) -> dict[str, str]:
    """Return the texts under "Attributes:", each in one line, by name; of its base classes, too."""
    inherited = map(attribute_texts, reversed(config.__mro__[1:-1]))
    texts = {name: text for each in inherited for name, text in each.items()}
    lines = inspect.cleandoc(config.__doc__ or "").splitlines()
    start = lines.index("Attributes:") + 1 if "Attributes:" in lines else len(lines)
    names: list[str] = []
    for line in lines[start:]:
        if line and not line.startswith(" "):
            break  # the next section
        if line.startswith("  ") and not line.startswith("   "):
            first, _, text = line.partition(":")
            names = [name.strip() for name in first.split(",")]
            texts |= dict.fromkeys(names, text.strip())
        elif line:
            texts |= {name: f"{texts[name]} {line.strip()}" for name in names}
    return texts
