"""Learns the merges of BPE and WordPiece: again and again, the most frequent pair becomes a piece.

    {"low": 7, "lot": 2}  -->  l+o 9, lo+w 7, lo+t 2

    pieces  l o w 0 l o t 0       words, each up to a 0; then lo . w 0 lo . t 0, low . . 0 lo . t 0
    table   l o: 9, o w: 7, ...   how often pairs occur
    heap    9 l o {0, 1}, ...     pairs, the most frequent first, and the words that they are in

Of equally frequent pairs, the one of smaller ids comes first. The merges are those of `BpeTrainer`
in the library `tokenizers`. Only the words of the pair that is merged are read, from start to end.
Counts on the heap are corrected when they come to its top: they never grow, since all pairs with a
piece arise when it is made. No two merges make the same token: letters that become one piece become
it in the same way wherever they stand, as no merge before has joined one of them to another letter.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.progress import progress

STEPS = 1 << 18  # after which the kernel returns, so that signals are heeded
FIRST_ROWS = 1 << 16  # of the table of pairs
MERGES = 1 << 12  # that the kernel gives at a time
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LOW = (1 << 32) - 1
_SPACE = ord(" ")
_DONE, _MORE, _NO_ROOM = range(3)
_COUNT, _KEY, _NODE = range(3)  # columns; a key is a pair of ids, 32 bits each
_START = 1
_WORD, _NEXT = range(2)
_NUM_WORDS, _NUM_PAIRS, _HEAP_SIZE, _NUM_NODES, _FREE_NODE, _NUM_TOUCHED, _NUM_TOKENS = range(7)


class Training(NamedTuple):
    """What the kernel works on.

    Attributes:
      pieces: int32 [places], at the place of its first letter the id of each piece, > 0, and 0
        after each word.
      words: int64 [words, 2]: how often each occurs, and the place of its first piece.
      sizes: int32 [most tokens + 1], the number of letters of each token.
      table: int64 [a power of two, 2]: count and key of pairs, at most half as many as rows.
      heap: int64 [half as many, 3]: count, key, and the first node of the words.
      nodes: int32 or int64 [3 * places, 2]: a word, and the next node; 0 if there is none. Words
        have fewer pairs than places, and a merge that takes a piece away gives two pairs at most.
      neighbours: int64 [2 * (most tokens + 1), 3]: for the token before the pair that is merged,
        and the one after it, how often it occurs there and the first node of the words.
      touched: int64 [as many], the rows of neighbours in use.
      state: int64 [7], numbers of which the kernel keeps count.
    """

    pieces: NDArray[np.int32]
    words: NDArray[np.int64]
    sizes: NDArray[np.int32]
    table: NDArray[np.int64]
    heap: NDArray[np.int64]
    nodes: NDArray[np.integer]
    neighbours: NDArray[np.int64]
    touched: NDArray[np.int64]
    state: NDArray[np.int64]


@inner
def _row_of(table: NDArray[np.int64], key: Scalar) -> Scalar:
    """Return the row of a pair, or the free one where it belongs."""
    mask = len(table) - 1
    mixed = np.uint64(key) * _MULTIPLIER
    row = np.int64(mixed ^ (mixed >> np.uint64(32))) & mask
    while table[row, _KEY] != 0 and table[row, _KEY] != key:
        row = (row + 1) & mask
    return row


@inner
def _note(rows: NDArray[np.int64], row: Scalar, count: Scalar, word: Scalar, t: Training) -> None:
    """Add to a row's count, and its word to its list, unless that begins with it."""
    rows[row, _COUNT] += count
    first = rows[row, _NODE]
    if first != 0 and t.nodes[first, _WORD] == word:
        return
    node = t.state[_FREE_NODE]
    if node == 0:
        t.state[_NUM_NODES] += 1
        node = t.state[_NUM_NODES]
    else:
        t.state[_FREE_NODE] = t.nodes[node, _NEXT]
    t.nodes[node, _WORD], t.nodes[node, _NEXT] = word, first
    rows[row, _NODE] = node


@inner
def _is_before(heap: NDArray[np.int64], i: Scalar, count: Scalar, key: Scalar) -> bool:
    return heap[i, _COUNT] > count or (heap[i, _COUNT] == count and heap[i, _KEY] < key)


@inner
def _put(heap: NDArray[np.int64], size: Scalar, i: Scalar, entry: tuple[int, int, int]) -> None:
    """Put an entry where heap[i] was, or above or below where heap[:size] needs it."""
    count, key, _ = entry
    child = 2 * i + 1
    while i > 0 and not _is_before(heap, (i - 1) >> 1, count, key):
        for column in range(3):
            heap[i, column] = heap[(i - 1) >> 1, column]
        i = (i - 1) >> 1
        child = size
    while child < size:
        if child + 1 < size and _is_before(heap, child + 1, heap[child, _COUNT], heap[child, _KEY]):
            child += 1
        if not _is_before(heap, child, count, key):
            break
        for column in range(3):
            heap[i, column] = heap[child, column]
        i, child = child, 2 * child + 1
    for column in range(3):
        heap[i, column] = entry[column]


@inner
def _push(t: Training, count: Scalar, key: Scalar, node: Scalar) -> None:
    t.state[_HEAP_SIZE] += 1
    _put(t.heap, t.state[_HEAP_SIZE], t.state[_HEAP_SIZE] - 1, (count, key, node))


@inner
def _count_pairs(t: Training) -> bool:
    """Count the pairs of the next word on the heap, whose rows the table has for counts meanwhile.

    After the last word, order the heap.

    Returns:
      Whether there is room for the pairs; if not, nothing was done.
    """
    word = t.state[_NUM_WORDS]
    start = end = t.words[word, _START]
    while t.pieces[end] != 0:
        end += 1
    if 2 * (t.state[_NUM_PAIRS] + end - start) > len(t.table):
        return False
    for place in range(start, end - 1):
        key = np.int64(t.pieces[place]) << 32 | t.pieces[place + 1]
        row = _row_of(t.table, key)
        number = t.table[row, _COUNT]
        if t.table[row, _KEY] == 0:
            number = t.state[_NUM_PAIRS]
            t.state[_NUM_PAIRS] += 1
            t.table[row, _COUNT], t.table[row, _KEY] = number, key
            t.heap[number, _COUNT], t.heap[number, _KEY], t.heap[number, _NODE] = 0, key, 0
        _note(t.heap, number, t.words[word, _COUNT], word, t)
    t.state[_NUM_WORDS] += 1
    if t.state[_NUM_WORDS] == len(t.words):
        for number in range(t.state[_NUM_PAIRS]):
            count, key, node = t.heap[number, _COUNT], t.heap[number, _KEY], t.heap[number, _NODE]
            t.table[_row_of(t.table, key), _COUNT] = count
            _push(t, count, key, node)
    return True


@inner
def _note_neighbour(t: Training, row: Scalar, count: Scalar, word: Scalar) -> None:
    if t.neighbours[row, _COUNT] == 0:
        t.touched[t.state[_NUM_TOUCHED]] = row
        t.state[_NUM_TOUCHED] += 1
    _note(t.neighbours, row, count, word, t)


@inner
def _merge_in(t: Training, word: Scalar, first: Scalar, second: Scalar, made: Scalar) -> None:
    """Merge a pair in a word, and note its neighbours."""
    count, place = t.words[word, _COUNT], t.words[word, _START]
    before, piece = np.int64(0), np.int64(t.pieces[place])
    while piece != 0:
        next_place = place + t.sizes[piece]
        if piece == first and t.pieces[next_place] == second:
            next_place += t.sizes[second]
            after = np.int64(t.pieces[next_place])
            if before != 0:
                _note_neighbour(t, 2 * before, count, word)
            if after != 0:
                _note_neighbour(t, 2 * after + 1, count, word)
            t.pieces[place] = piece = made
        before, place, piece = piece, next_place, np.int64(t.pieces[next_place])


@inner
def _change_pairs(
    t: Training, first: Scalar, second: Scalar, made: Scalar, min_frequency: Scalar
) -> None:
    """Let the neighbours of a merged pair be pairs with what it has become."""
    for k in range(t.state[_NUM_TOUCHED]):
        row = t.touched[k]
        other, is_after = row >> 1, row & 1
        count, node = t.neighbours[row, _COUNT], t.neighbours[row, _NODE]
        t.neighbours[row, _COUNT] = t.neighbours[row, _NODE] = 0
        key = second << 32 | other if is_after else other << 32 | first
        row = _row_of(t.table, key)
        if t.table[row, _KEY] == key:
            t.table[row, _COUNT] -= count
        if count >= min_frequency:
            key = made << 32 | other if is_after else other << 32 | made
            row = _row_of(t.table, key)
            t.table[row, _COUNT], t.table[row, _KEY] = count, key
            t.state[_NUM_PAIRS] += 1
            _push(t, count, key, node)
    t.state[_NUM_TOUCHED] = 0


@inner
def _merge(t: Training, key: Scalar, node: Scalar, min_frequency: Scalar) -> Scalar:
    """Merge a pair in the words of a list, whose nodes become free; return how many they are."""
    first, second, made = key >> 32, key & _LOW, t.state[_NUM_TOKENS]
    t.sizes[made] = t.sizes[first] + t.sizes[second]
    t.state[_NUM_TOKENS] += 1
    num_words = 0
    while node != 0:
        word, following = np.int64(t.nodes[node, _WORD]), np.int64(t.nodes[node, _NEXT])
        t.nodes[node, _NEXT] = t.state[_FREE_NODE]
        t.state[_FREE_NODE] = node
        _merge_in(t, word, first, second, made)
        node = following
        num_words += 1
    _change_pairs(t, first, second, made, min_frequency)
    return num_words


@kernel
def merge_most_frequent(
    t: Training, vocab_size: int, min_frequency: int, merges: NDArray[np.int32], steps: int
) -> tuple[int, int]:
    """Count the pairs of all words, then merge pairs; each word and pair is a step.

    Args:
      vocab_size: the number of tokens at which to end.
      min_frequency: the least count of a pair that is merged, > 0.
      merges: int32 [n, 2], gets the pairs that are merged.
      steps: number of steps after which to return.

    Returns:
      (status, number of merges). _DONE: there are no more; _MORE: call again; _NO_ROOM: call again
      with a larger table and heap.
    """
    state, heap, num = t.state, t.heap, 0
    while steps > 0 and num < len(merges):
        steps -= 1
        if state[_NUM_WORDS] < len(t.words):
            if not _count_pairs(t):
                return _NO_ROOM, num
            continue
        num_tokens, size = state[_NUM_TOKENS], state[_HEAP_SIZE]
        if num_tokens >= vocab_size or size == 0:
            return _DONE, num
        count, key, node = heap[0, _COUNT], heap[0, _KEY], heap[0, _NODE]
        now = t.table[_row_of(t.table, key), _COUNT]
        if count != now:
            _put(heap, size, np.int64(0), (now, key, node))
            continue
        if count < min_frequency:
            return _DONE, num
        more = 2 * count if count < num_tokens else 2 * num_tokens
        if 2 * (state[_NUM_PAIRS] + more) > len(t.table):
            return _NO_ROOM, num
        size -= 1
        state[_HEAP_SIZE] = size
        last = heap[size, _COUNT], heap[size, _KEY], heap[size, _NODE]
        _put(heap, size, np.int64(0), last)
        merges[num, 0], merges[num, 1] = key >> 32, key & _LOW
        num += 1
        steps -= _merge(t, key, node, min_frequency)
    return _MORE, num


@kernel
def copy_rows(table: NDArray[np.int64], larger: NDArray[np.int64]) -> None:
    """Copy the pairs of a table to a larger one, which is all zeros."""
    for row in range(len(table)):
        if table[row, _KEY] != 0:
            new = _row_of(larger, table[row, _KEY])
            larger[new, _COUNT], larger[new, _KEY] = table[row, _COUNT], table[row, _KEY]


def learn_merges(
    words: Mapping[str, int],
    tokens: Sequence[str],
    *,
    continuation: str,
    vocab_size: int,
    min_frequency: int,
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the tokens, with those that are learned from words, and the merges in their order.

    It takes some 30 bytes of memory for each letter of different words: 0.3 kB for a word of 10.

    Args:
      words: how often each word occurs, > 0; a space is in none.
      tokens: those that there are, by id; the first one does not come from text. Characters that
        are none of them are left out of words.
      continuation: what tokens begin with that continue a word; WordPiece's words have no # beside
        other characters, so that no two merges make the same token.
      vocab_size: the number of tokens at which to end.
      min_frequency: the least count of a pair that is merged, > 0.
    """
    t = _prepare(words, tokens, continuation, vocab_size)
    learned, merges = [*tokens], list[tuple[str, str]]()
    some, status = np.empty((MERGES, 2), np.int32), _MORE
    with progress("train", total=vocab_size - len(tokens), unit="token") as advance:
        while status != _DONE:
            status, num = merge_most_frequent(t, vocab_size, min_frequency, some, STEPS)
            for first, second in some[:num].tolist():
                merges.append((learned[first], learned[second]))
                learned.append(learned[first] + learned[second].removeprefix(continuation))
            advance(num)
            if status == _NO_ROOM:
                table = np.zeros((2 * len(t.table), 2), np.int64)
                copy_rows(t.table, table)
                t = t._replace(table=table, heap=np.concatenate([t.heap, t.heap]))
    return learned, merges


def _prepare(
    words: Mapping[str, int], tokens: Sequence[str], continuation: str, vocab_size: int
) -> Training:
    firsts, others = np.full((2, sys.maxunicode + 1), -1, np.int32)
    for number, token in enumerate(tokens):
        for ids, start in ((firsts, ""), (others, continuation)):
            if len(token) == len(start) + 1 and token.startswith(start):
                ids[ord(token[-1])] = number
    firsts[_SPACE] = others[_SPACE] = 0
    codes = np.frombuffer(" ".join(["", *words, ""]).encode("utf-32-le"), np.uint32)
    starts = np.flatnonzero(codes[:-1] == _SPACE) + 1
    pieces = others[codes]
    pieces[starts] = firsts[codes[starts]]
    pieces = pieces[pieces >= 0]
    starts = np.flatnonzero(pieces[:-1] == 0) + 1
    counts = np.fromiter(words.values(), np.int64, len(words))
    num_nodes, most = 3 * len(pieces), min(vocab_size, len(tokens) + len(pieces)) + 1
    state = np.zeros(7, np.int64)
    state[_NUM_TOKENS] = len(tokens)
    return Training(
        pieces=pieces,
        words=np.stack([counts, starts], axis=1),
        sizes=np.ones(most, np.int32),
        table=np.zeros((FIRST_ROWS, 2), np.int64),
        heap=np.empty((FIRST_ROWS // 2, 3), np.int64),
        nodes=np.empty((num_nodes, 2), np.int32 if num_nodes < 2**31 else np.int64),
        neighbours=np.zeros((2 * most, 3), np.int64),
        touched=np.empty(2 * most, np.int64),
        state=state,
    )
