"""When two texts are the same, and when they contradict each other.

Sameness is equal normal form and nothing weaker. A contradiction is a *suspicion worth a person's minute*, so
precision comes first: both texts make the same statement (equal outline), exactly one value, only the negation
or one of two opposites differs, and the value is what the statement says *about* its subject, not the subject
itself. Whatever may be true beside the other (lists, events, abilities, examples) is no contradiction.
"""
# ruff: noqa: RUF001 - marks of other scripts are the subject here, not typing errors

import functools
import itertools
import re
from collections.abc import Collection, Sequence

from engram.model.outline import (
    DATE_WORDS,
    FAR,
    MASK,
    NUMBER_WORDS,
    SCALES,
    SWITCH_WORDS,
    Statement,
    outline,
    statement,
)
from engram.model.text import digest, normalise, terms
from engram.rules.likeness_values import (
    MONTHS,
    NAMES,
    QUANTITIES,
    bared,
    common_kind,
    is_count,
    is_other_version,
    is_region,
    may_mean_the_same,
    value_kind,
)

_ANY = QUANTITIES | NAMES


def same(a: str, b: str) -> bool:
    """Whether two texts are the same: equal normal form, nothing else."""
    return normalise(a) == normalise(b)


def contradiction(old: str, new: str) -> str | None:
    """Why both texts can hardly hold at once ("number: 80 → 90", "negation", "opposites: on → off"), or None."""
    frame = outline(new)
    if not frame or frame != outline(old) or digest(old) == digest(new):
        return None
    before, after = statement(old), statement(new)
    if before is None or after is None or _is_beside_others(after) or _is_beside_others(before):
        return None
    if len(before.poles) != len(after.poles):
        return None  # "requires" and "required" share a stem, and one of them has an opposite
    if before.negated == after.negated and not _ABLE.isdisjoint(after.words):
        return None  # what can be one thing can be another; but can and cannot do contradict
    return _said_otherwise(before, after)


def _said_otherwise(before: Statement, after: Statement) -> str | None:
    """The one thing that two statements of one outline say otherwise, where only one of them can be so."""
    changed = [at for at, pair in enumerate(zip(before.values, after.values, strict=True)) if _differ(*pair)]
    turned = _turned(before, after)
    if before.negated != after.negated:
        return None if changed or turned else "negation"
    if turned:
        return None if changed or len(turned) > 1 else _opposed(before, after, turned[0])
    if len(changed) != 1 or after.negated:  # "is not 1" and "is not 2" are both true of 3
        return None
    return _changed_value(before, after, changed[0])


def other_values(old: str, new: str) -> bool:
    """Whether each of two texts names a number, a day or a name that the other does not: no repeat then.

    Any word with a capital letter is taken for a name, the first of a sentence as well: a repeat that begins with
    another word is not seen as one, which costs less than to take two things for the same.
    """
    sides = [[bared(word) for word in words] for words in (_bare_words(old), _bare_words(new))]
    named = [{bared(word) for word in _bare_words(text) if _is_value(word)} for text in (old, new)]
    return bool(named[0].difference(sides[1]) and named[1].difference(sides[0]))


def _bare_words(text: str) -> list[str]:
    """Words without the signs around them."""
    return [word for each in text.split() if (word := each.strip("\"'`“”‘’«»„「」『』.,;:!?()[]{}*_"))]


def _is_value(word: str) -> bool:
    bare = bared(word)
    listed = bare in DATE_WORDS or bare in NUMBER_WORDS or bare in SWITCH_WORDS or bare in MONTHS
    return listed or word[0].isupper() or any(letter.isdigit() for letter in word)


def similarity(a: str, b: str) -> float:
    """How much two texts share, from 0 to 1, symmetric; 1.0 only for the same text. For ordering only."""
    if same(a, b):
        return 1.0
    left, right = terms(a), terms(b)
    words = _overlap(set(left), set(right))
    order = _overlap(set(itertools.pairwise(left)), set(itertools.pairwise(right)))
    return min(0.99, 0.7 * words + 0.3 * order)


def _overlap(a: Collection[object], b: Collection[object]) -> float:
    """Dice's coefficient."""
    common = sum(1 for item in a if item in b)
    return 2 * common / (len(a) + len(b)) if common else 0.0


# --- what is never held against another text ---


def _is_beside_others(said: Statement) -> bool:
    """Whether the statement may stand beside another: an addition, an ability, an event, one of many."""
    words = said.words
    if not _BESIDE.isdisjoint(words) or words[0] in _ONE_OF_MANY:
        return True
    # "Fixed the parser: 12", "The parser: Fixed 12": what was done, said first, is a log entry
    firsts = [words[0]] + [
        run[0].lower()
        for run, at in zip(said.values, _places(words), strict=True)
        if len(run) > 1 and _is_sign(words[at - 1 : at])
    ]
    if any(map(_is_event, firsts)):
        return True
    return any(not word.isascii() and _beside_cjk().search(word) for word in words)


def _is_event(word: str) -> bool:
    return word in _EVENTS or (word.endswith("ed") and len(word) > 4)


# --- opposites ---


def _turned(before: Statement, after: Statement) -> list[int]:
    """Which of their opposites two statements of one outline have at other ends."""
    ends = zip(before.poles, after.poles, strict=True)
    return [number for number, ((_, old), (_, new)) in enumerate(ends) if (old in FAR) != (new in FAR)]


def _opposed(before: Statement, after: Statement, number: int) -> str | None:
    """What two statements say otherwise, where that is what they say of their subject."""
    (_, old), (at, new) = before.poles[number], after.poles[number]
    words = after.words
    if SCALES[new] in _ORDER:
        # "Before lunch we walk" and "We met before lunch" leave room for the other; so does what is past.
        past = any(word in _PAST or _is_event(word) for word in words)
        return None if at == 0 or past else f"opposites: {old} → {new}"
    verb = next((word for word in reversed(words[:at]) if word not in _ADVERBS), "")
    # "Public keys live there": one kind of keys is the subject, and says nothing of the other.
    if verb not in _BE and verb not in _STAYS:
        return None
    return f"opposites: {old} → {new}"


# --- what changed ---


def _differ(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    return [bared(value) for value in old] != [bared(value) for value in new]


def _changed_value(before: Statement, after: Statement, at: int) -> str | None:
    old, new = _trimmed(before.values[at], after.values[at])
    if not old or not new or old[0][0] == "#" or may_mean_the_same(old, new):
        return None  # #12 refers to one of many
    if needed := _needed(after, at, old, new):
        return f"{needed}: {old[0]} → {new[0]}"
    words, place = _with_verbs(after, at, shared=old[0] != before.values[at][0])
    marker = _marker(words, place)
    if marker is None:
        return None
    kind = common_kind(old, new, measured=words[marker] in _MEASURES)
    if kind == "number" and any(value_kind(value) == "date" for value in after.values[at]):
        # 3 May → 5 May: what is left is a number, what is meant is a day
        verbs = int(words[place - 1] == after.values[at][0].lower())
        kind, old, new = "date", list(before.values[at][verbs:]), list(after.values[at][verbs:])
    if kind is None or not (
        _is_predicate(words, marker, place, kind) or _runs_there(words[marker:place], words[place + 1 :], old, new)
    ):
        return None
    return f"{kind}: {' '.join(old)} → {' '.join(new)}"


def _trimmed(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Two runs without what they share at both ends."""
    a, b = list(old), list(new)
    while a and b and bared(a[0]) == bared(b[0]):
        a, b = a[1:], b[1:]
    while a and b and bared(a[-1]) == bared(b[-1]):
        a, b = a[:-1], b[:-1]
    return a, b


# --- where the value stands ---


def _places(words: tuple[str, ...]) -> list[int]:
    return [at for at, word in enumerate(words) if word == MASK]


def _with_verbs(said: Statement, at: int, *, shared: bool) -> tuple[tuple[str, ...], int]:
    """The words, with each verb that a capital behind a sign hid in a value, and where the changed value stands.

    In "Harbor: Runs on port 80" the verb was taken for a name. Of the changed value, only what both have is a verb.
    """
    words: list[str] = []
    runs = iter(enumerate(said.values))
    place = 0
    for word in said.words:
        if word != MASK:
            words.append(word)
            continue
        number, run = next(runs)
        if _is_sign(words[-1:]) and run[0].lower() in _STATES and (shared or number != at):
            words.append(run[0].lower())
            run = run[1:]
        if number == at:
            place = len(words)
        if run:
            words.append(MASK)
    return tuple(words), place


def _is_sign(word: Sequence[str]) -> bool:
    return bool(word) and word[0] != MASK and not word[0][-1].isalnum()


def _needed(said: Statement, at: int, old: list[str], new: list[str]) -> str | None:
    """The kind of a value before its verb, where only one can be needed: "Two approvals are required".

    So is one version of what is named ("Node 20 is required"), but not one step of many ("Step 2 is required").
    """
    place = _places(said.words)[at]
    before, run = said.words[:place], said.values[at]
    behind = [word for word in said.words[place + 1 :] if word not in _ADVERBS]
    if len(old) != 1 or len(new) != 1 or any(word in FAR for _, word in said.poles):
        return None
    if _AT_LEAST.issuperset(before) and len(run) == 1:
        verb = next((number for number, word in enumerate(behind[:4]) if word in _ARE), 0)
        counted = verb > 0 and not _NEEDED.isdisjoint(behind[verb + 1 : verb + 2])
        return "number" if counted and is_count(old) and is_count(new) and common_kind(old, new) else None
    if _NEWER.issuperset(behind[:2]):
        behind = behind[2:]
    one = len(behind) > 1 and behind[0] in _IS and (behind[1] in _NEEDED or _THE_ONE.issuperset(behind[1:3]))
    named = any(name.lower() in _VERSIONED for name in (*before[-1:], *run))
    return "version" if one and named and is_other_version(old[0], new[0]) else None


def _runs_there(said: tuple[str, ...], behind: tuple[str, ...], old: list[str], new: list[str]) -> bool:
    """Whether one thing is said to run in another region: "runs in eu-west-1"."""
    if said not in {("runs", "in"), ("läuft", "in")} or not _is_all(behind):
        return False
    return all(len(run) == 1 and is_region(run[0]) for run in (old, new))


def _marker(words: tuple[str, ...], place: int) -> int | None:
    """Where the last verb or sign before a place stands that says a state; None if there is none."""
    for at in range(place - 1, -1, -1):
        if _holds(words, at) is not None:
            return at
    return None


def _holds(words: tuple[str, ...], at: int) -> frozenset[str] | None:
    """The kinds of which the verb at this place holds one value at a time; None if it is no such verb."""
    word = words[at]
    if word == "out":
        return QUANTITIES if words[at - 1 : at] in (("time",), ("times",)) else None
    if word == "set":
        return _ANY if words[at + 1 : at + 2] == ("to",) else None
    if word in _SERVING:
        return frozenset(("number",)) if _is_on_a_port(words[at + 1 :]) else None
    if not word.isascii() and word not in _STATES:
        return _ANY if _state_cjk().search(word) else None
    return _STATES.get(word)


def _is_on_a_port(words: tuple[str, ...]) -> bool:
    """Whether what is served is said, and then where: "metrics on 9123", but not "port 80"."""
    clause = tuple(itertools.takewhile(lambda word: word not in _JOINING, words))
    return any(
        clause[at : at + 2] == ("on", MASK) or clause[at : at + 3] == ("on", "port", MASK)
        for at in range(1, len(clause))
    )


def _is_predicate(words: tuple[str, ...], marker: int, place: int, kind: str) -> bool:
    """Whether the value is the one thing that the marker says of its subject."""
    verb, between = words[marker], words[marker + 1 : place]
    listed = words[place - 1] in _JOINING or _is_listed(words[place + 1 :])
    # "is tested on 3.11", "was fixed in 1.2": others may be, too
    shared = any(word in _MANY or (word.endswith("ed") and word not in _FIXED) for word in between)
    if listed or shared or _is_loose(words, marker, between) or kind not in (_holds(words, marker) or ()):
        return False
    if marker and words[marker - 1] == "there":
        return kind == "number" and not between
    if kind in NAMES:
        return _is_named(words, verb, place, between)
    if MASK in between:
        last = len(between) - between[::-1].index(MASK)
        return _LINKS.issuperset(between[last:]) or (verb in _SERVING and _JOINING.isdisjoint(between))
    return True


def _is_listed(behind: tuple[str, ...]) -> bool:
    """Whether one more of a list follows: "and 443", "and on port 443", but not "and serves metrics on 443"."""
    if not behind or behind[0] not in _JOINING:
        return False
    joined = next((word for word in behind[1:] if word not in _LINKS and word not in _AGAIN), MASK)
    return joined == MASK


def _is_loose(words: tuple[str, ...], marker: int, between: tuple[str, ...]) -> bool:
    """Whether a sign is too far off, a name is one of many ("a dog named"), or a past is someone's ("I was")."""
    verb, subject = words[marker], words[:marker]
    if verb in {"named", "called"}:
        return not _INDEFINITE.isdisjoint(subject)
    if verb in _PAST:
        return not subject or subject[-1] in _PERSONS
    return bool(between) and not verb[-1].isalpha()


def _is_named(words: tuple[str, ...], verb: str, place: int, between: tuple[str, ...]) -> bool:
    """Whether a name is all that is said: "is in Berlin", but not "is a friend of Bob" or "is Bob's dog"."""
    if verb in _PLURAL or not _LEADS.get(verb, _LEADING).issuperset(between):
        return False
    if not verb.isascii() and verb not in _STATES and not _state_at_end().search(verb):
        return False
    return _is_all(words[place + 1 :])


def _is_all(behind: tuple[str, ...]) -> bool:
    """Whether what stands behind a name leaves it all that is said."""
    return not behind or behind[0] in _TRAILING or behind[0].startswith(("です", "だ", "である", "でした"))


@functools.cache
def _state_cjk() -> re.Pattern[str]:
    return re.compile("是|为|為|等于|等於|叫|は|使用|运行|運行|监听|監聽|需要|花费")


@functools.cache
def _state_at_end() -> re.Pattern[str]:
    return re.compile("(?:是|为|為|叫|は)$")


@functools.cache
def _beside_cjk() -> re.Pattern[str]:
    return re.compile("也|还|還|又|可以|可能|昨天|今天|明天|昨日|今日|明日|も|でき|場合")


# --- words ---


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BE = _words("""
    is are was were am be been being ist sind war waren bin es son está están era est sont était é são è sono är
""")
_ONE = _words("""
    equals equal named called listens listen lives live expires expire belongs stays stay remains remain prefers
    prefer heißt heisst lautet lauscht wohnt bevorzugt bleibt gehört prefiere vive escucha préfère habite écoute
    = == := : -> => → ⇒ defaults default resolves points
""")
_MEASURES = _words("""
    costs cost lasts weighs weigh takes take measures totals kostet dauert wiegt cuesta dura coûte dure
""")
_TIMED = _words("starts start begins begin ends end opens closes beginnt endet empieza termina commence finit")
_BOUND = _words("must should shall muss soll debe doit")
_COUNTED = _words("has have hat haben tiene tienen tem")
_TOOLED = _words("""
    uses use using needs need requires require nutzt nutzen verwendet braucht benötigt usa usan necesita utilise
    utilisent nécessite
""")
_DONE = _words("runs run läuft laufen corre")
_EMPLOYED = _words("works work arbeitet trabaja")
_SPEAKING = _words("speaks speak")  # gRPC beside HTTP, but on one port
_SERVING = _words("exposes expose serves serve")  # one thing on one port
_HELD_TOGETHER = _words("""
    supports support includes include contains contain accepts accept allows allow depends depend knows know
    likes like loves love offers offer provides provide unterstützt enthält soporta admite incluye
    contient accepte
""")

# Which kinds of value a verb holds one at a time. "The port is 80" rules out 443; "we use Docker" does not rule
# out Podman, but "we use Python 3.11" rules out 3.12; "runs on 3.11" does not rule out 3.12, but "runs at 9:00"
# rules out 10:00; "we support 3.11" rules out nothing.
_STATES: dict[str, frozenset[str]] = {
    **dict.fromkeys(_BE | _ONE, _ANY),
    **dict.fromkeys(_MEASURES | _TIMED | _BOUND, QUANTITIES),
    **dict.fromkeys(_COUNTED | _SPEAKING, frozenset(("number",))),
    **dict.fromkeys(_TOOLED, frozenset(("number", "version"))),
    **dict.fromkeys(_DONE, frozenset(("number", "time", "date"))),
    **dict.fromkeys(_EMPLOYED, frozenset(("number", "time", "date", "name"))),
    **dict.fromkeys(_HELD_TOGETHER, frozenset()),
}
_PAST = _words("was were war waren era était")
_PERSONS = _words("i he she we they you it ich er sie wir es yo él ella je il elle nous")
_INDEFINITE = _words("a an")
_PLURAL = _words("are were sind waren son están sont são")

# Words that make a statement stand beside others: additions, examples, habits, days that move.
_BESIDE = _words("""
    also too another additional additionally both either including example instance such besides moreover
    furthermore sometimes often occasionally well auch zudem außerdem ebenfalls manchmal aussi également parfois
    también además yesterday today tomorrow tonight last next ago gestern heute morgen ayer hoy mañana
    aujourd'hui demain e.g i.e
""")
_ABLE = _words("can could may might kann können puede pueden peut peuvent pode")
_ONE_OF_MANY = _words("a an one some many several another ein eine un una une um uma")
_EVENTS = _words("met sent wrote made did saw got found went gave took paid bought sold spoke said told")
_JOINING = _words("and or und oder y o et ou e")
_AGAIN = _words("again then every each in the auf im")  # what may stand before the next of a list
_MANY = _words("""
    compatible available known seen written interested aware fluent good similar relevant visible found built
    part one among between about like
""")
_FIXED = _words("""
    named called based located scheduled hosted owned managed priced dated planned pinned limited capped stored
    configured assigned required expected rated sized red
""")
# What may stand between a verb and a name that is all it says, by verb where it matters.
_LEADING = _words("""
    the my our in at on to by from now currently still always called named located based hosted owned managed
    stored assigned set der die das im am auf bei von jetzt el la en le les à dans chez il
""")
_LEADS = {
    **dict.fromkeys(("prefer", "prefers"), _LEADING | {"use", "using"}),
    **dict.fromkeys(_EMPLOYED, _words("at for bei en para")),
}
_TRAILING = _words("now since in at on for from as because currently jetzt seit ahora desde maintenant depuis")
_ADVERBS = _words("now currently still always strictly explicitly generally usually jetzt derzeit immer")
_STAYS = _words("stays stay remains remain defaults bleibt bleiben turned switched left kept")
_ORDER = _words("after nach")
_LINKS = _words("at on port to until till from version um bis a las à hasta")
# What is needed once: so many of something, or one version of what is named here.
_IS, _ARE = _words("is ist"), _words("are sind")
_NEEDED = _words("required needed necessary enough nötig notwendig")
_AT_LEAST = _words("at least exactly only mindestens genau")
_NEWER = _words("or newer later higher above oder neuer höher")
_THE_ONE = _words("the our minimum default baseline")
_VERSIONED = _words("""
    angular ansible cmake debian deno django docker dotnet elixir erlang gcc go golang gradle java jdk kotlin
    kubernetes laravel mariadb maven mongodb mysql nginx node node.js nodejs npm php pnpm postgres postgresql python
    rails react redis ruby rust scala sqlite terraform typescript ubuntu vue xcode yarn
""")
