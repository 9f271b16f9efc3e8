"""Sentence order prediction: whether B follows A, or the two are swapped.

    chunk  s0 s1 s2    A s0, B s1 s2    or, half of the time,    A s1 s2, B s0

This is ALBERT's task (Lan et al. 2019, arXiv 1909.11942, section 3.1.3) as google-research/albert
makes it. A chunk of one sentence has no halves; then B is from another document, as in next
sentence prediction, with the label 1.
"""

import functools

from bert_data.objectives.nsp import draw_pairs
from bert_data.objectives.objective import Objective
from bert_data.schema.fields import SENTENCE_ORDER_LABELS

SOP = Objective(
    name="sop",
    draw_segments=functools.partial(draw_pairs, swaps=True),
    swaps=True,
    label=SENTENCE_ORDER_LABELS,
    task="sentence_order",
    meanings=("A and B are in order", "A and B are swapped"),
    short_meanings=("it follows", "swapped"),
    ones="segments not in order",
)
