"""Text for the samples: pieces of the prose that every Python brings along, and made-up sentences.

pieces()          ->  [["The assert statement is ...", ...], ...]     some 250 words each
german(7)         ->  "Die alte Mühle am Fluss gehört ..."            another one for each number
questions()[0]    ->  "A farmer from Ashford sells 12 baskets ..."
"""

from collections.abc import Iterator

from examples.demo.python_prose import read_documents

WORDS_A_PIECE = 250
_LEAST_WORDS = 120
_STRIDE = 7  # pieces of a document go to several sources

_SUBJECTS = (
    *("Die alte Mühle am Fluss", "Der kleine Laden an der Ecke", "Das Haus hinter dem Wald"),
    *("Die Bäckerei meiner Tante", "Der Garten des Pfarrers", "Die Werkstatt im Hof"),
)
_VERBS = ("gehört seit dem Frühling", "verkaufte man im letzten Herbst", "vermietet jetzt")
_OBJECTS = (
    *("einer Familie aus Bremen", "zwei Brüdern vom Land", "dem Lehrer unserer Schule"),
    *("einer Gärtnerin aus Ulm", "den Nachbarn gegenüber", "einem Fischer von der Küste"),
)
_REASONS = (
    *("weil niemand sonst die Arbeit machen wollte", "obwohl das Dach noch undicht ist"),
    *("damit die Kinder es später besser haben", "und im Sommer kommen viele Gäste vorbei"),
    *("doch der Winter war lang und teuer", "wie es im Dorf schon immer Brauch war"),
)
_GOODS = (
    *("watches", "handbags", "pills", "loans", "tickets", "phones", "shoes", "perfume", "rings"),
    *("tyres", "sofas", "drills", "games", "stocks", "boots", "lamps", "carpets", "guitars"),
)
_PRAISE = ("cheap", "best", "free", "bonus", "discount", "hot", "genuine", "unbeatable", "top")
_PLACES = ("online", "here", "now", "today", "tonight", "worldwide", "overnight", "in store")
_OPENINGS = (
    *("lol", "hey all", "thanks mate", "me too", "bump", "so yeah", "haha nice one", "ok guys"),
    *("first post here", "not sure tbh", "anyone else", "sorry for the double post"),
)
_THOUGHTS = (
    *("does somebody know when the next season starts", "my team lost again last night"),
    *("i totally love that song", "the admin banned my brother", "your avatar is so funny"),
    *("check out my new profile pic", "i cant log in since monday", "who wants to trade cards"),
    *("that movie was boring as hell", "i got the same haircut", "my cat did this yesterday"),
    *("please like and share it", "the party was awesome"),
)
_ENDINGS = (
    *("see you!", "any ideas?", "cheers dude.", "cant wait!!", "what do you think?", "peace."),
    *("pm me please.", "or is it just me?", "thx in advance.", "good night folks.", "omg!"),
)
_BETS = ("place your bets", "casino bonus", "free spins")
_VILLAGES = ("Ashford", "Bexley", "Colne", "Dunmow", "Elstow", "Farnley", "Goring", "Hawes")
_FRUITS = ("apples", "pears", "plums", "cherries", "quinces")


def pieces() -> list[list[str]]:
    """Return pieces of at least 120 words, each a list of sentences, no sentence twice."""
    made = [piece for document in read_documents() for piece in _cut(document)]
    return [piece for start in range(_STRIDE) for piece in made[start::_STRIDE]]


def _cut(document: list[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    num_words = 0
    for sentence in document:
        piece.append(sentence)
        num_words += len(sentence.split())
        if num_words >= WORDS_A_PIECE:
            yield piece
            piece, num_words = [], 0
    if num_words >= _LEAST_WORDS:
        yield piece


def paragraphs(piece: list[str]) -> list[str]:
    """Return the sentences of a piece, three to a paragraph."""
    return [" ".join(piece[i : i + 3]) for i in range(0, len(piece), 3)]


def german(number: int) -> str:
    """Return a German sentence; 648 numbers have different ones."""
    number, reason = divmod(number, len(_REASONS))
    number, what = divmod(number, len(_OBJECTS))
    number, verb = divmod(number, len(_VERBS))
    subject = _SUBJECTS[number % len(_SUBJECTS)]
    return f"{subject} {_VERBS[verb]} {_OBJECTS[what]}, {_REASONS[reason]}."


def advertisement(number: int) -> str:
    """Return a line of words that only want to be found; 5,832 numbers have different ones."""
    digits = [number // len(_GOODS) ** place % len(_GOODS) for place in range(3)]
    praise = [_PRAISE[(number + i * 2) % len(_PRAISE)] for i in range(3)]
    place = _PLACES[number % len(_PLACES)]
    return " ".join(f"buy {p} {_GOODS[d]} {place}" for p, d in zip(praise, digits, strict=True))


def chatter(number: int) -> str:
    """Return a line of a forum; 1,716 numbers have different ones."""
    opening = _OPENINGS[number % len(_OPENINGS)]
    thought = _THOUGHTS[number % len(_THOUGHTS)]
    return f"{opening} {thought} {_ENDINGS[number % len(_ENDINGS)]}"


def flagged() -> list[str]:
    """Return phrases that a list of unwanted words has."""
    return list(_BETS)


def questions() -> list[str]:
    """Return the questions of an evaluation set."""
    return [
        f"A farmer from {village} sells {number} baskets of {_FRUITS[number % 5]} at the market on"
        f" Monday, keeps a third of the rest for the winter, and gives {number + 3} of them to her"
        f" sister; how many baskets does she carry home to {village} in the evening?"
        for number, village in enumerate(_VILLAGES, 12)
    ]
