"""Pass documents through steps, and note every verdict, and its time, in the steps' logs.

documents ─judge_shard─▶ documents ─judge_documents─▶ documents
"""

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence

from bert_data.curation.document import Document, FieldError, StepFieldError
from bert_data.curation.running.step_log import StepLog
from bert_data.curation.verdict import Verdict
from bert_data.kernels import clock
from bert_data.text.documents import STRICT

Judge = Callable[[Document], Verdict]


class Timed:
    """Documents, with the time that it takes to get them.

    Attributes:
      seconds: so far; a caller may set them to 0.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = iter(documents)
        self.seconds = 0.0

    def __iter__(self) -> Iterator[Document]:
        return self

    def __next__(self) -> Document:
        start = clock()
        try:
            return next(self._documents)
        finally:
            self.seconds += clock() - start


def judge_shard(
    judge: Callable[[Iterable[Document]], Iterator[Verdict]],
    log: StepLog,
    documents: Iterable[Document],
) -> Iterator[Document]:
    """Yield what a step passes that judges a whole shard; it may read ahead of its verdicts."""
    timed = Timed(documents)
    waiting: collections.deque[Document] = collections.deque()

    def seen() -> Iterator[Document]:
        for document in timed:
            waiting.append(document)
            yield document

    verdicts = judge(seen())
    start = clock()
    for verdict in verdicts:
        document = log.note(waiting.popleft(), verdict)
        log.counts.seconds += clock() - start - timed.seconds
        if document is not None:
            for _ in range(verdict.num_copies):
                yield document
        start, timed.seconds = clock(), 0.0
    assert not waiting, f"{log.counts.label} did not judge {len(waiting)} documents"


def judge_documents(
    judges: Sequence[tuple[StepLog, Judge]], on_error: str, documents: Iterable[Document]
) -> Iterator[Document]:
    """Yield what steps pass that judge each document by itself, one step after the other.

    Raises:
      ValueError: a step cannot judge a document, and `on_error` is "strict".
      StepFieldError: the document has not the field that a step needs.
    """
    for document in documents:
        yield from _through(document, judges, on_error)


def _through(
    document: Document, judges: Sequence[tuple[StepLog, Judge]], on_error: str
) -> Iterator[Document]:
    for number, (log, judge) in enumerate(judges):
        start = clock()
        try:
            verdict = judge(document)
        except (MemoryError, OSError):
            raise
        except FieldError as error:
            raise StepFieldError(f"step {log.counts.label}: {error}") from error
        except Exception as error:
            if on_error == STRICT:
                raise ValueError(
                    f"step {log.counts.label} cannot judge document {document.id!r}:"
                    f" {type(error).__name__}: {error} (--on_error=skip continues without it)"
                ) from error
            log.fail(document, error)
            return
        after = log.note(document, verdict)
        log.counts.seconds += clock() - start
        if after is None:
            return
        document = after
        if verdict.num_copies != 1:
            for _ in range(verdict.num_copies):
                yield from _through(document, judges[number + 1 :], on_error)
            return
    yield document
