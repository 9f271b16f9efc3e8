"""Findings: what is wrong with a set, and how much it harms.

damaged    the bytes contradict themselves, the index or the manifest
harmful    a model would learn something else than it should
doubtful   it may be meant so, but is more often a mistake
"""

import dataclasses
from typing import Any

DAMAGED, HARMFUL, DOUBTFUL = SEVERITIES = ("damaged", "harmful", "doubtful")
"""From the worst on."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes:
      name: of the kind of finding, the same in every run.
      severity: one of `SEVERITIES`.
      sentence: what is wrong where, and what to do.
    """

    name: str
    severity: str
    sentence: str

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return dataclasses.asdict(self)


def by_harm(findings: list[Finding]) -> list[Finding]:
    """Return findings with the worst first, and else in their order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
