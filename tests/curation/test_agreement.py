"""Decisions beside datatrove's, where an interpreter that has it is named."""

import json
import os
import subprocess
import sys

import pytest

# The rules that count no words and no sentences: nothing is left open there.
_EXACT = ("line", "paragraph", "lorem", "curly", "text")


@pytest.mark.process
def test_rules_decide_as_datatroves_do(checkout, shared):
    python = os.environ.get("DATATROVE_PYTHON")
    if not python:
        pytest.skip("needs DATATROVE_PYTHON, an interpreter that has datatrove and spacy")
    program = [sys.executable, checkout / "benchmarks" / "agreement.py", "--json"]
    run = subprocess.run(
        [*program, f"--datatrove={python}", "--num_documents=1000", "--max_characters=3000"],
        capture_output=True,
        text=True,
        check=True,
    )
    rules = json.loads(run.stdout)["rules"]
    assert len(rules) == 9 + 13 + 4 + 3 + 1
    for rule in rules:
        total = sum(value for value in rule.values() if isinstance(value, int))
        num_different = rule["only_we_reject"] + rule["only_datatrove_rejects"]
        is_exact = any(part in rule["rule"] for part in _EXACT)
        assert num_different <= (0 if is_exact else 0.015 * total), rule
        assert rule["both_reject"] >= 5 or rule["rule"] == "text", rule
        assert rule["both_keep"] >= 5, rule
