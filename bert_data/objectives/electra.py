"""ELECTRA's segments: one or two, about which nothing is asked.

`recipes.sequences.electra_segments` draws them; records made from text do not have them.
"""

from bert_data.objectives.objective import Objective

ELECTRA = Objective(name="electra")
