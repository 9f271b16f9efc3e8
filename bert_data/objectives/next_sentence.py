"""What a model predicts besides masked words: the choices of --next_sentence.

    nsp   [CLS] A [SEP] B [SEP]   does B follow A, or is it from another document?       BERT
    sop   [CLS] A [SEP] B [SEP]   does B follow A, or are the two swapped?              ALBERT
    none  [CLS] A [SEP]           nothing                                                RoBERTa

In all three, the text is consecutive sentences of a document:

- nsp is google-research/bert's next sentence prediction (Devlin et al. 2018, arXiv 1810.04805,
  section 3.1), draw for draw.
- sop is ALBERT's sentence order prediction (Lan et al. 2019, arXiv 1909.11942, section 3.1.3) as
  google-research/albert makes it: the halves of a chunk are swapped half of the time. A chunk of
  one sentence has no halves; then B is from another document, as in nsp, with the label 1.
- none is RoBERTa's DOC-SENTENCES (Liu et al. 2019, arXiv 1907.11692, section 4.2): one segment of
  full sentences of one document, as many as fit. In that paper it does better than
  FULL-SENTENCES, which fills up with the next document to keep batches of one size; here, packed
  rows and batches bounded by tokens do that. A sentence too long to fit continues in the next
  instance.
"""

from bert_data.bounds import check_choice
from bert_data.schema.fields import NEXT_SENTENCE_LABELS, SENTENCE_ORDER_LABELS, Field

NSP, SOP, NONE = NEXT_SENTENCE = ("nsp", "sop", "none")
"""The choices, by name; kernels know them by their place."""

TASKS = {NSP: "next_sentence", SOP: "sentence_order"}
"""What is learned of the two segments: the name of the model's output, loss and accuracy."""

LABELS: dict[str, Field | None] = {
    NSP: NEXT_SENTENCE_LABELS,
    SOP: SENTENCE_ORDER_LABELS,
    NONE: None,
}
"""The field of a record that has the answer, if anything is asked."""

CODE_SOP, CODE_NONE = NEXT_SENTENCE.index(SOP), NEXT_SENTENCE.index(NONE)


def check_next_sentence(value: str) -> None:
    """Refuse any other value.

    Raises:
      ValueError: the value is not one of `NEXT_SENTENCE`.
    """
    check_choice("next_sentence", value, NEXT_SENTENCE)
