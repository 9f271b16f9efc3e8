"""Properties of languages that rules need: stop words, lengths of words, ends of sentences.

    language_of(document, "")    ->  "ja"   from its field, or else from its letters
    letters_per_word(words)      ->  1.8    Chinese; 1.0 for texts with spaces between words

The published rules count English words. In an unspaced script, each letter is a word of `Words`.
There, as many letters as a word has on average count as one word, so that thresholds keep their
meaning: 50 words are 90 Chinese characters, and a 5-gram is 9 characters.
"""

import functools
import hashlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_kernels import (
    Arrays,
    divide,
    list_rows,
    logarithm,
    max_rows,
    mean_vector,
    multiply,
)
from bert_data.curation.classifying.fasttext_model import huffman_tree, read_arrays
from bert_data.curation.words import Words
from bert_data.errors import CorruptDataError
from bert_data.kernels import Constants, Scalar, inner, kernel
from bert_data.storage import read_bytes

DEFAULT_LANGUAGE = "en"

# Letters of a word, on average: words of jieba 0.42 in Chinese news and in the Universal
# Declaration of Human Rights (1.84 and 1.74); in the latter, SudachiPy's short units (1.62) and
# PyThaiNLP's newmm (3.97). The other scripts of South East Asia are treated like Thai. Of Tibetan,
# a syllable of the Declaration has 2.2 letters, without those below and above them, and a word
# nearly two syllables.
LETTERS_PER_WORD = {"zh": 1.8, "ja": 1.6, "th": 4.0, "lo": 4.0, "km": 4.0, "my": 4.0, "bo": 4.0}
_OTHER_UNSPACED = "th"
_WITHOUT_MARKS = ("th", "lo")  # a space, or nothing, separates their sentences
# First and last code points of the scripts that identify an unspaced language. Japanese is the one
# with kana among its ideographs.
_SCRIPTS = {
    "zh": ((0x3005, 0x3007), (0x3100, 0x312F), (0x3400, 0x9FFF), (0xF900, 0xFAFF)),
    "ja": ((0x3031, 0x3035), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    "th": ((0x0E00, 0x0E7F),),
    "lo": ((0x0E80, 0x0EFF),),
    "km": ((0x1780, 0x17FF),),
    "my": ((0x1000, 0x109F),),
    "bo": ((0x0F00, 0x0FFF),),
}
_MIN_KANA = 0.05

# Gopher's eight for English (Rae et al. 2021, A1.1), and equally common words of other languages;
# those of unspaced languages may occur anywhere in the text.
STOP_WORDS = {
    "en": "the be to of and that have with",
    "de": "der die und in zu den das nicht von sie ist des sich mit dem",
    "nl": "de en van ik te dat die in een hij het niet zijn is met",
    "sv": "och det att i en jag som han på den med var sig för",
    "da": "og i jeg det at en den til er som på de med af for",
    "no": "og i jeg det at en et den til er som på de med av for",
    "is": "og að í á sem er til var við um en það",
    "fr": "de la le et les des en un une du que est pour qui dans",
    "es": "de la que el en y a los se del las un por con una",
    "pt": "de a o que e do da em um para com não uma os no",
    "it": "di e il la che in un a per è una sono con del non",
    "ro": "și de în a la cu pe nu că care este un o din mai",
    "ca": "de la i el que a en un per els les amb una del és",
    "pl": "i w nie na się z do to że jest o jak ale po od",
    "cs": "a se v na je že o s z do i to k jako ale",
    "sk": "a sa v na je že o s z do to k ako ale pre",
    "sl": "in je v na se da za so ki z ne pa o kot",
    "hr": "i u je se na da su za od s ne koji a kao",
    "hu": "a az és hogy nem is egy ez meg volt van de csak",
    "fi": "ja on ei että se oli hän mutta ovat joka kun myös tai ole",
    "et": "ja on ei et see oli ka ta mis kui oma või aga",
    "lt": "ir yra kad į iš su kaip tai bet ne o apie",
    "lv": "un ir ka uz no ar par kas bet ne kā arī",
    "tr": "ve bir bu da de için ile çok ne o olarak daha gibi",
    "id": "yang dan di ini itu dengan untuk tidak dari dalam pada adalah ke",
    "vi": "và của là có trong cho không được với một các những người",
    "ru": "и в не на что с он как это по но из у к за",
    "uk": "і в не на що з як це до та у за є але від",
    "bg": "и на да в се не за с от е че по са до това",
    "sr": "и у је се на да су за од с не који а као i u je se na da su za od",
    "el": "και το να του η της με που για από την είναι στο δεν",
    "ar": "في من على أن إلى عن لا ما هذا التي الذي هو كان مع",
    "fa": "و در به از که این را با است برای آن یک تا هم",
    "ur": "کے میں کی ہے اور سے کا کو اس پر نے ہیں کہ",
    "he": "של את על לא הוא זה עם כי גם או היא אני הם",
    "hi": "के में की है और से का को पर इस कि जो एक यह हैं",
    "bn": "ও এই করে এবং থেকে হয় না একটি জন্য তার সে যে",
    "ko": "이 그 및 수 등 것은 것이 있는 있다 하는 할 더 위해 대한",
    "zh": "的 是 在 了 不 和 有 我 人 这 為 为 這 一 他",
    "ja": "の に は を た が で て と し れ さ も な",
    "th": "ที่ และ การ ใน เป็น ของ มี ได้ จะ ไม่ ให้ ว่า",
    "lo": "ແລະ ທີ່ ຂອງ ໃນ ການ ເປັນ ບໍ່ ມີ ໄດ້ ໃຫ້",
    "km": "និង នៃ ជា ការ ក្នុង បាន ដែល មាន ទៅ នេះ",
    "my": "သည် ၏ နှင့် ကို တွင် များ မှ ရှိ ဖြစ် အတွက်",
}
# Other codes of these languages: ISO 639-3, and older ones.
_PAIRS_OF_CODES = """
eng:en deu:de nld:nl swe:sv dan:da nob:no nb:no isl:is fra:fr spa:es por:pt ita:it ron:ro cat:ca
pol:pl ces:cs slk:sk slv:sl hrv:hr hun:hu fin:fi ekk:et est:et lit:lt lav:lv lvs:lv tur:tr ind:id
vie:vi rus:ru ukr:uk bul:bg srp:sr bs:hr ell:el ara:ar arb:ar fas:fa pes:fa urd:ur heb:he iw:he
hin:hi ben:bn kor:ko zho:zh cmn:zh yue:zh jpn:ja tha:th lao:lo khm:km mya:my
bod:bo dzo:bo dz:bo
"""
_OTHER_CODES = dict(pair.split(":") for pair in _PAIRS_OF_CODES.split())


@functools.lru_cache(maxsize=1024)
def language_code(language: str) -> str:
    """Return the code used in these tables: "zh" for "zh-Hant", "en" for "eng_Latn"."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return _OTHER_CODES.get(code, code)


@functools.cache
def stop_words(language: str) -> tuple[str, ...]:
    """Return some of the most common words of a language; none if it is not listed."""
    return tuple(dict.fromkeys(STOP_WORDS.get(language, "").split()))


def is_unspaced(words: Words) -> bool:
    """Whether most words of a text are letters of unspaced scripts."""
    counts = words.counts
    return 2 * counts.num_unspaced > counts.num_words - counts.num_symbols


def unspaced_language(words: Words) -> str:
    """Return the language of an unspaced text, by its letters; "" if it has spaces."""
    if not is_unspaced(words):
        return ""
    letters = words.codes[words.starts[words.is_unspaced]]
    edges, languages = _script_edges()
    places = np.searchsorted(edges, letters, "right")  # odd: within a range
    numbers = np.bincount(places, minlength=len(edges) + 1)[1::2].tolist()
    counts = dict.fromkeys(_SCRIPTS, 0)
    for language, number in zip(languages, numbers, strict=True):
        counts[language] += number
    if counts["ja"] > _MIN_KANA * (counts["zh"] + counts["ja"]):
        counts["ja"] += counts["zh"]
    likeliest = max(counts, key=lambda language: counts[language])
    return likeliest if counts[likeliest] else _OTHER_UNSPACED


@functools.cache
def _script_edges() -> tuple[NDArray[np.uint32], tuple[str, ...]]:
    """Return where the ranges of scripts begin and end, increasing, and the languages of each."""
    ranges = sorted((*span, language) for language, spans in _SCRIPTS.items() for span in spans)
    edges = [edge for first, last, _ in ranges for edge in (first, last + 1)]
    return np.array(edges, np.uint32), tuple(language for *_, language in ranges)


def is_syllabic(words: Words) -> bool:
    """Whether most words of a text begin with a Korean syllable: two or three letters in one."""
    counts = words.counts
    return 2 * counts.num_korean > counts.num_words - counts.num_symbols


def letters_per_word(words: Words) -> float:
    """Return the number of letters that count as a word: 1.0 for texts with spaces."""
    return LETTERS_PER_WORD.get(unspaced_language(words), 1.0)


def marks_sentences(words: Words) -> bool:
    """Whether the language of a text marks the ends of sentences."""
    return unspaced_language(words) not in _WITHOUT_MARKS


def language_of(field: Any, default: str, words: Words) -> str:
    """Return the language code of a text.

    Args:
      field: the document's own field; anything but a non-empty string is ignored.
      default: for documents without the field; if empty, their letters decide.
    """
    if isinstance(field, str) and field:
        return language_code(field)
    if default:
        return language_code(default)
    return unspaced_language(words) or ("ko" if is_syllabic(words) else DEFAULT_LANGUAGE)


# Unicode's property Sentence_Terminal, first and last code points in hexadecimal: PropList.txt of
# Unicode 16.
_TERMINALS = """
21 2E 3F 589 61D-61F 6D4 700-702 7F9 837 839 83D-83E 964-965 104A-104B 1362 1367-1368 166E 1735-1736
17D4-17D5 1803 1809 1944-1945 1AA8-1AAB 1B4E-1B4F 1B5A-1B5B 1B5E-1B5F 1B7D-1B7F 1C3B-1C3C 1C7E-1C7F
2024 203C-203D 2047-2049 2CF9-2CFB 2E2E 2E3C 2E53-2E54 2E60-2E61 3002 A4FF A60E-A60F A6F3 A6F7
A876-A877 A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 ABEB FE12 FE15-FE16 FE52 FE56-FE57 FF01 FF0E
FF1F FF61 10A56-10A57 10F55-10F59 10F86-10F89 11047-11048 110BE-110C1 11141-11143 111C5-111C6 111CD
111DE-111DF 11238-11239 1123B-1123C 112A9 113D4-113D5 1144B-1144C 115C2-115C3 115C9-115D7
11641-11642 1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C 11C41-11C42 11EF7-11EF8 11F43-11F44
16A6E-16A6F 16AF5 16B37-16B38 16B44 16D6E-16D6F 16E98 1BC9F 1DA88
"""


@functools.cache
def sentence_terminals() -> NDArray[np.uint32]:
    """Return the marks that end sentences, in all scripts: uint32 [marks], increasing."""
    codes: list[int] = []
    for part in _TERMINALS.split():
        first, _, last = part.partition("-")
        codes.extend(range(int(first, 16), int(last or first, 16) + 1))
    return np.array(codes, np.uint32)


_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
_HASHES = np.zeros(0, np.int32)  # the model has no n-grams of words


class LanguageModel:
    """The model.

    Attributes:
      languages: codes of the languages that it knows.
    """

    def __init__(self, arrays: Arrays) -> None:
        self.languages = tuple(arrays.labels())
        self._settings = arrays.settings
        self._model = Constants((arrays, huffman_tree(arrays.counts), _HASHES))

    def predict(self, text: str) -> tuple[str, float]:
        """Return the likeliest language of a text that UTF-8 can encode, and its probability."""
        words = text.replace("\0", " ").split()
        data = np.frombuffer(f"<{'> <'.join(words)}> ".encode(), np.uint8)
        rows = np.empty(max_rows(self._settings, len(data), len(words) + 1), np.int32)
        scratch = np.zeros((3, 2 * len(self.languages)), np.float32)
        label, probability = _predict(data, self._model, rows, scratch)
        return self.languages[label], probability


def read_model(path: str) -> LanguageModel:
    """Read the model.

    Raises:
      CorruptDataError: it is damaged, or another file.
    """
    data = read_bytes(path)
    if hashlib.sha256(data).hexdigest() != _SHA256:
        raise CorruptDataError(path, 0, "not the model lid.176.ftz")
    return LanguageModel(read_arrays(path))


@kernel
def _predict(
    text: NDArray[np.uint8],
    model: tuple[Any, ...],
    rows: NDArray[np.int32],
    scratch: NDArray[np.float32],
) -> tuple[int, float]:
    """Return the likeliest language and its probability.

    Args:
      text: see `list_rows`.
      model: its arrays, the tree of its languages, and the hashes that `list_rows` takes.
      rows: see `list_rows`; overwritten.
      scratch: [3, nodes + 1 or more], zeros.
    """
    arrays, children, hashes = model
    num_rows = list_rows(text, arrays, hashes, rows)
    if num_rows:
        mean_vector(arrays.vectors, rows, num_rows, scratch[0])
    return _likeliest_leaf(scratch[0], arrays.outputs, children, scratch[1], scratch[2])


@inner
def _likeliest_leaf(
    sums: NDArray[np.float32],
    nodes: NDArray[np.float32],
    children: NDArray[np.int32],
    waiting: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> tuple[Scalar, float]:
    """Return the likeliest leaf of the tree, and its probability, by its logarithm."""
    best, best_score = np.int64(0), logarithm(np.float32(0))
    waiting[0], scores[0] = len(children) - 1, 0
    num_waiting = 1
    while num_waiting:
        num_waiting -= 1
        node, score = np.int64(waiting[num_waiting]), scores[num_waiting]
        if score < best_score:
            continue
        if children[node, 0] < 0:
            best, best_score = node, score
            continue
        share = divide(multiply(nodes, node - len(nodes), sums))
        for side, part in ((1, share), (0, np.float32(1.0 - share))):  # the last one is next
            waiting[num_waiting] = children[node, side]
            scores[num_waiting] = score + logarithm(part)
            num_waiting += 1
    return best, math.exp(best_score)
