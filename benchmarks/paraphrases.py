"""Paraphrases made by formula: of reports of drawn facts, and of real passages.

facts ─▶ six sentences, each in one of four ways, in a drawn order     (active, passive, nouns)
passage ─▶ words replaced with others of the same meaning, sentences in another order
"""

import random
import re
from collections.abc import Sequence

_WORDS = {
    "company": """airline bakery bank brewery broadcaster builder carmaker carrier cinema college
        cooperative dairy farm foundry gallery grocer hospital hotel insurer laboratory
        library mill mine museum newspaper observatory orchestra pharmacy port prison
        publisher railway refinery restaurant school shipyard studio supermarket theatre
        university utility vineyard winery zoo""",
    "city": """Athens Baltimore Bangkok Berlin Bogota Boston Brussels Budapest Cairo Calgary
        Chicago Copenhagen Dallas Denver Detroit Dublin Geneva Glasgow Hamburg Havana
        Helsinki Istanbul Jakarta Karachi Lagos Lima Lisbon Madrid Manila Melbourne Miami
        Montreal Moscow Nairobi Oslo Ottawa Prague Quito Seattle Seoul Sydney Tehran Tokyo
        Toronto Vienna Warsaw""",
    "person": """Anderson Baker Bennett Campbell Carter Chen Clark Collins Cooper Cruz Davies Diaz
        Edwards Fischer Garcia Gupta Hansen Hernandez Ivanov Jensen Johnson Kim Klein Lopez
        Martin Meyer Murphy Nakamura Nguyen Novak Olsen Patel Pereira Rossi Schmidt Silva
        Singh Tanaka Thompson Walker Weber Williams Wong""",
    "thing": """airport archive bicycle boat bridge bus camera canal cathedral clinic computer
        concert course crane dam engine exhibition factory fence ferry festival film
        fountain garden heater kitchen lift magazine map medicine mural oven park pipeline
        playground pool pump radio road roof satellite shelter stadium statue telescope
        tower tractor train tunnel vaccine warehouse""",
    "month": """January February March April May June July August September October November
        December""",
    "cause": """accident drought earthquake election fire flood frost heat inflation lawsuit noise
        pollution rain rust scandal shortage smoke storm strike tax theft traffic virus war""",
}
NAMES = {kind: words.split() for kind, words in _WORDS.items()}

SENTENCES = (
    (
        "The {company} in {city} will build a new {thing}, its director said on Monday.",
        "On Monday the head of the {city} {company} announced plans to construct another {thing}.",
        "A new {thing} is going to be built by the {city} {company}, according to its chief.",
        "Plans for one more {thing} were revealed by the boss of the {company} based in {city}.",
    ),
    (
        "Mr {person} bought the old {thing2} for {number} million dollars in {month}.",
        "In {month}, the former {thing2} was purchased by Mr {person} at {number} million dollars.",
        "{number} million dollars is what Mr {person} paid for the ancient {thing2} in {month}.",
        "The aged {thing2} was sold to Mr {person}, who spent {number} million dollars in {month}.",
    ),
    (
        "The {cause} destroyed the {thing3}, and nobody was hurt.",
        "Nobody was injured when the {thing3} was ruined by the {cause}.",
        "Although the {thing3} fell victim to the {cause}, there were no casualties.",
        "The {cause} left the {thing3} in pieces; no person was harmed.",
    ),
    (
        "Workers of the {company2} demand higher wages since {month2}.",
        "Since {month2}, better pay has been requested by the staff of the {company2}.",
        "The employees at the {company2} have been calling for bigger salaries from {month2} on.",
        "A rise of their income is what people who work for the {company2} want since {month2}.",
    ),
    (
        "Doctor {person2} warned that the {cause2} might hit {city2} again soon.",
        "According to doctor {person2}, {city2} could shortly face the {cause2} once more.",
        "The {cause2} may soon return to {city2}, doctor {person2} cautioned.",
        "{city2} should expect another time of the {cause2}, as doctor {person2} fears.",
    ),
    (
        "Visitors liked the {thing4} most of all that they saw in {city3}.",
        "Of everything in {city3}, the {thing4} was what tourists enjoyed best.",
        "No sight of {city3} pleased the guests more than the {thing4}.",
        "The {thing4} was the favourite of those who came to see {city3}.",
    ),
)

SYNONYMS = """film movie picture|movies films pictures|actor performer|actors performers|story tale
plot|big large huge|small little tiny|begin start|begins starts|began started|end finish|ends
finishes|quick fast rapid|quickly rapidly swiftly|funny amusing humorous|good fine decent|great
excellent superb|bad poor awful|terrible dreadful horrible|best finest|worst poorest|almost
nearly|maybe perhaps possibly|also too|very really extremely|often frequently|usually
normally|sometimes occasionally|because since|but yet though|however nevertheless|get obtain
receive|gets obtains receives|make create|makes creates|made created|show display|shows
displays|seems appears|seem appear|say state|says states|said stated|think believe|thinks
believes|thought believed|want desire wish|wants desires wishes|try attempt|tries attempts|trying
attempting|help assist|helps assists|kill murder slay|killed murdered slain|kills murders
slays|find discover|finds discovers|found discovered|look appear|looks appears|watch see
view|watching seeing viewing|happy glad joyful|sad unhappy|angry furious mad|scary frightening
terrifying|boring dull tedious|smart clever intelligent|stupid dumb foolish|beautiful pretty
lovely|young youthful|old aged|new fresh novel|strange odd weird|hard difficult tough|easy simple
effortless|whole entire complete|several many numerous|many numerous countless|different
distinct|main principal chief|important significant crucial|real genuine actual|true
genuine|wrong mistaken|rich wealthy|house home|job work occupation|child kid|children kids|man
guy fellow|men guys fellows|woman lady|women ladies|girl lass|boy lad|people folks persons|friend
pal buddy|friends pals buddies|wife spouse|husband spouse|father dad|mother mom|car
automobile|money cash|town city|war conflict|fight battle|crime offence|police cops|doctor
physician|music tunes|scene sequence|scenes sequences|role part|roles parts|character
figure|characters figures|performance portrayal|performances portrayals|director filmmaker|script
screenplay|audience viewers spectators|effects tricks|idea concept notion|ideas concepts
notions|problem trouble difficulty|problems troubles difficulties|reason cause|result
outcome|way manner|kind sort type|thing matter|things matters|moment instant|moments
instants|year twelvemonth|long lengthy|short brief|enough sufficient|only merely just|just merely
simply|still nonetheless|never ne'er|always constantly|again anew|together jointly|away
off|actually really truly|completely totally entirely|especially particularly|probably
likely|obviously clearly evidently|finally eventually ultimately|suddenly abruptly|plays
portrays|play portray|played portrayed|goes heads|go head|went headed|comes arrives|come
arrive|came arrived|gives provides|give provide|gave provided|takes grabs|take grab|took
grabbed|leaves departs|leave depart|left departed|keeps retains|keep retain|kept
retained|starts begins|tells informs|told informed|talk speak chat|talks speaks chats|loves
adores|love adore|loved adored|hates detests|hate detest|hated detested|likes enjoys|dies
perishes|die perish|died perished|lives resides|becomes grows|become grow|became grew|needs
requires|need require|needed required"""


def _read_synonyms() -> dict[str, list[str]]:
    others: dict[str, list[str]] = {}
    for group in " ".join(SYNONYMS.split()).split("|"):
        words = group.split()
        for word in words:
            others.setdefault(word, []).extend(each for each in words if each != word)
    return others


_OTHERS = _read_synonyms()


def draw_facts(draw: random.Random) -> dict[str, str]:
    """The figures of a report."""
    facts = {"number": str(draw.randrange(2, 999))}
    for kind, count in (
        ("company", 2), ("city", 3), ("person", 2), ("thing", 4), ("month", 2), ("cause", 2)
    ):  # fmt: skip
        for place, name in enumerate(draw.sample(NAMES[kind], count)):
            facts[f"{kind}{place + 1 if place else ''}"] = name
    return facts


def write_reports(facts: dict[str, str], draw: random.Random, count: int) -> list[str]:
    """Reports that say the same: no two have a sentence in common."""
    ways = [draw.sample(kinds, count) for kinds in SENTENCES]
    reports = []
    for number in range(count):
        sentences = [kinds[number].format(**facts) for kinds in ways]
        draw.shuffle(sentences)
        reports.append(" ".join(sentence[0].upper() + sentence[1:] for sentence in sentences))
    return reports


def paraphrase(sentences: Sequence[str], draw: random.Random) -> str:
    """A passage in other words, with its sentences in another order."""
    sentences = list(sentences)
    draw.shuffle(sentences)

    def other(match: re.Match[str]) -> str:
        return draw.choice(_OTHERS.get(match[0], [match[0]]))

    return " ".join(re.sub(r"[a-z']+", other, sentence) for sentence in sentences)
