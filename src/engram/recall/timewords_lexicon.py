"""The words and patterns by which a question speaks of time, in English and German.

A word of time is no part of a path, an address, an option, a call or a name of code.
"""
# ruff: noqa: RUF001 - typographic quotes and dashes are the subject here, not typing errors

import functools
import re
from collections.abc import Iterable


def _numbered(lines: str) -> dict[str, int]:
    """Words by the number of their line."""
    return {word: number for number, line in enumerate(lines.split("|"), 1) for word in line.split()}


def _named(lines: dict[str, str]) -> dict[str, str]:
    """Words, separated by commas, by the name of their line."""
    return {word: name for name, line in lines.items() for word in line.split(",")}


MONTHS = _numbered(
    "january januar jänner jan|february februar feber feb|march märz maerz ma\u0308rz mar|april apr|may mai"
    "|june juni jun|july juli jul|august aug|september sept sep|october oktober oct okt|november nov"
    "|december dezember dec dez"
)
SHORT_MONTHS = ("may", "mai", "june", "juni", "july", "juli", "märz")
"""Names of up to four letters that are whole; an abbreviation needs a day or a year (dec and oct are bases)."""
WEEKDAYS = _numbered(
    "monday montag|tuesday dienstag|wednesday mittwoch|thursday donnerstag|friday freitag"
    "|saturday samstag sonnabend|sunday sonntag"
)
NUMBERS = _numbered(
    "one a an ein eine einem einer|two zwei|three drei|four vier|five fünf|six sechs|seven sieben|eight acht"
    "|nine neun|ten zehn|eleven elf|twelve zwölf"
)
ORDINALS = _numbered("first ersten erstes|second zweiten zweites|third dritten drittes|fourth vierten viertes")
UNITS = {
    "hour": "hour", "stunde": "hour", "day": "day", "tag": "day", "weekend": "weekend", "wochenende": "weekend",
    "week": "week", "woche": "week", "month": "month", "monat": "month", "quart": "quarter", "year": "year",
    "jahr": "year",
}  # fmt: skip
"""Beginning of a word → unit; the longer of two that begin alike comes first."""
RELATIONS = _named(
    {
        "in": "in,on,during,throughout,of,im,am,während",
        "since": "since,seit,ab",
        "before": "before,prior to,vor",
        "after": "after,nach",
        "until": "until,till,up to,through,by,as of,bis,bis zum",
        "from": "from,von,vom",
        "between": "between,zwischen",
        "around": "around,circa",
        "more": "more than,over",
        "less": "less than",
    }
)
LEADS_OF_PERIODS = (
    "in", "during", "throughout", "since", "before", "prior to", "after", "until", "till", "up to",
    "im", "während", "seit", "ab", "vor", "nach", "bis",
)  # fmt: skip
"""The words that make a bare month, quarter or year a date; after *of*, *by* or *from* it may be a name."""
PARTS = _named(
    {
        "early": "early,beginning of,start of,anfang,beginn",
        "mid": "mid,middle of,mitte",
        "late": "late,end of,ende",
        "week of": "week of,woche vom,woche um",
        "week before": "week before,woche vor",
        "week after": "week after,woche nach",
    }
)
LOOKALIKES = str.maketrans("ſıİ", "siI")
"""Letters that a pattern takes for ASCII when it ignores case, but ``lower`` does not."""
NOT_COUNTED = ("was", "is", "has", "does", "as", "this", "its", "us", "vs", "these")
NEWEST_HINTS = (
    "latest", "recent", "newest", "last", "now", "current", "moment", "present", "these days", "lately", "neu",
    "jüngst", "aktuell", "zuletzt", "letzt", "kürzlich", "derzeit", "zur", "heutzutage", "jetzt",
)  # fmt: skip
OLDEST_HINTS = ("first", "original", "initial", "earliest", "beginning", "ursprünglich", "anf", "erst", "früheste")


# --- patterns, each compiled by compiled: case is ignored, and so is white space ---

_L = r"(?<![\w./@#$:=\\-])"
_R = r"(?![\w(/@$=\\-]|\.\w)"
_S = r"(?:['’]s)?"
_YEAR = r"(?:19|20|21)\d\d"
_OF = r"(?:the\s+|dem\s+|den\s+)?"
_OWN = r"(?:the|our|your|my|his|her|their|its)"


@functools.cache
def compiled(source: str) -> re.Pattern[str]:
    """A pattern of this module, compiled on first use."""
    return re.compile(source, re.IGNORECASE | re.VERBOSE)


def _any(words: Iterable[str]) -> str:
    """An alternation of words, the longest first, with spaces of any width."""
    return "|".join(word.replace(" ", r"\s+") for word in sorted(words, key=len, reverse=True))


QUOTATIONS = r"\"[^\"]*\" | `[^`]*` | “[^”]*” | „[^“”]*[“”] | «[^»]*»"
LEADS = rf"""{_L}
    (?:(?P<not>not|except|besides|nicht|außer)\s+)?
    (?:(?P<two>differences?|conflict|agreement|conversation|unterschied)\s+)?
    (?:(?P<count>days?|weeks|months?|years?|hours?|tage?n?|wochen|monate?n?|jahre?n?)\s+(?=before|after|vor|nach))?
    (?:(?P<word>{_any(RELATIONS)})\s+)?
    (?:(?:the|dem|den|der|des|back|(?P<year>year|jahre?s?))\s+){{0,3}}
    (?:(?P<part>{_any(PARTS)}
        |(?:first|second|third|fourth|last|ersten|zweiten|letzten)\s+(?:week|weekend|half|days|hälfte)\s+(?:of|in)
        |(?:spring|summer|autumn|fall|winter|rest|course|month|most)\s+of)
    (?:\s+|-){_OF})?\Z"""
JOINTS = rf"\s*,?\s*(?:(?P<to>to|until|till|through|bis(?:\s+zum)?|-|–|—)|and|or|und|oder|&|/)\s*{_OF}"
ONWARDS = r"\s+(?:on|onwards?|an)\b(?!\s+\w+day)"

_CLOCK = r"(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
NUMERIC = rf"""(?<!version\ ){_L}(?:
    (?P<year>{_YEAR})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d){_CLOCK})?|/(?P<slash_month>\d\d)/(?P<slash_day>\d\d))
    |(?P<dot_day>\d\d?)\.\s?(?P<dot_month>\d\d?)\.\s?(?P<dot_year>{_YEAR})
    |(?P<one>\d\d?)/(?P<two>\d\d?)/(?P<slash_year>{_YEAR})
    |(?P<my_month>0[1-9]|1[0-2])/(?P<my_year>20[1-9]\d)
    ){_R}(?!\.\.)"""
_RANK, _TO = r"(?:st|nd|rd|th|\.)?", r"\s*(?:-|–|to|bis|and|und)\s*"
MONTH = rf"""(?:{_L}|(?<=\bmid-))
    (?:(?P<day>\d\d?){_RANK}(?:{_TO}(?P<to_day>\d\d?){_RANK})?\s*(?:of\s+)?(?<!\d)
    |(?P<which>this|last|past|(?:letzte|diese|vorige|vergangene)[nrm]?)\s+)?
    (?P<name>{_any(MONTHS)})(?!['’]\d)\b\.?
    (?:\s+(?:the\s+)?(?P<day_after>\d\d?){_RANK}(?:{_TO}(?P<to_day_after>\d\d?){_RANK})?
        (?![\d:%]|[.,](?!{_YEAR})\d|\s*(?:%|times|x\b)))?
    (?:\s*,?\s*(?:of\s+)?(?P<year>\d{{4}})(?!\d))?{_R}"""
QUARTER = rf"""{_L}(?:
    (?:(?P<year_before>{_YEAR})[\s-]?)?(?:(?P<letter>[qh])(?P<q>[1-4])|w(?P<week>\d\d))(?(year_before)|(?<=[qh]\d))
    |kw\s?(?P<kw>\d\d?)
    |(?P<q_word>{_any(ORDINALS)}|[1-4]\.)\s+(?:quarter|quartals?)
    )(?:(?:\s+(?:of\s+|in\s+|des\s+jahres\s+)?|/|-)(?P<year>{_YEAR}))?{_R}"""
_EINHEIT = r"stunden?|tage?n?|wochen?|monate?n?|jahre?n?|quartale?n?"
ROLLING = rf"""{_L}(?:
    (?:(?:in|over|within|during|throughout)\s+(?:the\s+|these\s+)?(?:last|past|previous)|for\s+the\s+past)\s+
        (?:(?P<count>\d{{1,6}}|a\s+few|a?\s*couple\s+of|\w+)\s+)?
        (?P<unit>hour|day|week|month|year|quarter)(?(count)s?)(?!\s+of\b)
    |(?:in|während)\s+de[nr]\s+(?:letzten|vergangenen)\s+(?P<anzahl>ein\s+paar|\w+)\s+(?P<einheit>{_EINHEIT})
    |seit\s+(?P<dauer>ein\s+paar|\w+)\s+(?P<spanne>{_EINHEIT})
    ){_S}{_R}"""
AGO = rf"""{_L}(?:(?P<count>\d{{1,6}}|{_any(NUMBERS)})\s+(?P<unit>hour|day|week|month|quarter|year)s?\s+ago
    |vor\s+(?P<anzahl>\w+)\s+(?P<einheit>{_EINHEIT})){_R}"""
UNIT = rf"""{_L}(?:
    (?P<which>(?:the\s+|this\s+)past|this|last|past|previous|(?:diese|letzte|vorletzte|vorige|vergangene)[nrms]?)\s+
        (?P<unit>weekend|week|month|quarter|year|wochenendes?|woche|monats?|quartals?|jahre?s?)
    |(?:the\s+)?(?P<before_last>week|weekend|month|quarter|year)\s+before\s+last
    |(?P<over>over\s+the\s+weekend)
    ){_S}(?!\s+(?:of|der|des|im)\b){_R}"""
DAY = rf"""{_L}(?P<word>(?:the\s+)?day\s+before\s+yesterday|yesterday|last\s+night|today|tonight
    |this\s+(?:morning|afternoon|evening)|vorgestern|gestern|heute|letzte\s+nacht){_S}
    (?P<part>\s+(?:morning|afternoon|evening|night|morgen|früh|vormittag|mittag|nachmittag|abend|nacht))?{_R}"""
WEEKDAY = rf"""{_L}(?:(?P<which>last|this|past|(?:letzte|diese|vorige|vergangene)[nrm]?)\s+)?
    (?P<name>{_any(WEEKDAYS)}){_R}(?!['’]s
    |\s+(?:of|the|den|dem|in|im)\b|\s*,?\s*\d|\s*,?\s*(?:{_any(MONTHS)})\b|\s+(?:last|this|next|letzte|diese|nächste))"""
BARE_YEAR = rf"(?:{_L}|(?<=\bmid-))(?P<year>(?:199|20\d)\d)(?!,\d|\s*[%°]){_R}"
COUNTED = r"""\s*(?P<word>\w+s|[kmgt]i?b|ms|px|bit|byte|seiten|zeilen|tagen?|stunden|minuten|\w*sekunden|mal
    |zeichen|anfragen|versuchen?|einträgen?|dateien)\b"""
"""The word after a number, where it is something of which there may be 2022."""

NO_MONTH = r"['’]s\b | \s+(?:be|have|not|need|cause|only|also|still|fail)\b"
"""After a bare *may*: its verb; after a name: what is hers."""
NAME_AND_VERB = r"""\s+(?:\w{3,}ed|left|came|took|was|is|has|had|went|became|said|told|wrote|got|made|quit|did|does
    |kam|ging|hat|ist|war|wurde)\b"""
"""After June, April and the like: what a person did, so that "before June left" is no date."""
RECURRING = r"\b(?:every|each|yearly|annually|jede[nsr]?|jährlich)\b"
GERMAN_DAYS = r"heute|\w+(?:tag|abend)\b|mittwoch"
ENGLISH_HABITS = r"""\b(?:every|each|always|usually|normally|typically|should|can|could|must|may|ever|next|will|is
    |are|am|do|does|runs?|uses?|allowed)\b"""
"""Words of what is so in general: "do we deploy on Friday" asks for a rule, not for a day."""
ENGLISH_PAST = r"\b(?:did|was|were|had|happened|(?:have|has)\s+(?:i|we|you|they|he|she|it|been|the|any\w+))\b"
GERMAN_HABITS = r"""\b(?:jede[nrsm]?|immer|üblicherweise|normalerweise|soll\w*|kann|können|darf|dürfen|muss|müssen
    |nächste\w*|nutz\w+|verwende\w*|benutz\w+|läuft|laufen|gilt|gelten|wird|werden|mach\w+|steht|deploye\w*)\b"""
GERMAN_PAST = r"\b(?:hat|habe|haben|hast|habt|hatte\w*|wurden?|war|waren|passiert|geschehen)\b"

_EVENT = r"""(?:decision|incident|outage|release|deploy(?:ment)?|meeting|retro(?:spective)?|post-?mortem|discussion
    |conversation|stand-?up|session)"""
_RUNNING = r"(?:directory|working|folder|path|user|branch|time|date|year|process|thread|line|row|page|scope|shell)"
"""What is current to a program: a question for these asks for an instruction, not for a state."""
NEWEST = rf"""{_L}(?P<said>
    (?:(?<!at\ ){_OWN}\s+(?:very\s+)?|\A\s*)(?:latest|newest)(?!\s+(?:tag|first|image|stable|lts)\b)
    |(?:{_OWN}\s+)?most\s+recent(?:ly)?(?!\s+(?:first|used)\b)
    |(?<!least\ )(?<!most\ )(?:recently|lately)(?!\s+(?:used|viewed|opened)\b)
    |(?:the\s+)?last\s+time(?!\s*(?:zone|stamp|out|limit|frame|slot|step|series))
    |{_OWN}\s+last\s+{_EVENT}(?!\s+(?:ids?|tokens?|keys?|cookies?|notes?)\b)
    |(?<=what\ is\ )(?:the|our)\s+(?:\w+\s+)?current(?!\s+{_RUNNING}\b)
    |(?<!the\ )currently(?!\s+(?:selected|logged|focused|checked)\b)
    |right\s+now|as\s+of\s+now|nowadays|these\s+days|at\s+the\s+moment|at\s+present|presently
    |(?<=\w\ )(?<!until\ )(?<!till\ )(?<!by\ )(?<!from\ )(?<!even\ )(?<!just\ )(?<!for\ )(?<!than\ )(?<!right\ )
        now(?=\s*[?.!]*\s*\Z)
    |(?:der|die|das|den|dem|des|unser\w*|mein\w*)\s+(?:aller)?(?:neue?ste|aktuellste|jüngste)[nrms]?
    |zuletzt|(?:das|beim|zum)\s+letzten?\s+mal|kürzlich|neulich|in\s+letzter\s+zeit
    |momentan|derzeit|zurzeit|zur\s+zeit|heutzutage|aktuell|im\s+moment
    |(?<=\w\ )(?<!bis\ )(?<!ab\ )(?<!von\ )jetzt(?=\s*[?.!]*\s*\Z)
    ){_R}"""
_NOT_MINE = "".join(
    rf"(?<!\b{word})" for word in ("the", "a", "our", "my", "his", "her", "their", "your", "'s", "’s")
)
OLDEST = rf"""{_L}(?P<said>originally|initially|in\s+the\s+beginning(?!\s+of)|at\s+first(?=\s*[?.!,]|\s*\Z)
    |(?<!at\ )(?:the|our|my)\s+(?:very\s+)?earliest(?!\s+(?:supported|possible|version|date)\b)
    |(?<!for\ )(?:the|our|my)\s+(?:very\s+)?first\s+(?:time|attempt|version|{_EVENT})
    |(?:(?<=was\ )|(?<=were\ ))(?:the|our)\s+(?:original|initial)
    |ursprünglich|anfangs|anfänglich|erstmals|(?:zum\s+ersten|das\s+erste)\s+mal|(?:der|die|das)\s+früheste[nrms]?
    ){_R}
    |\b(?:did|when\s+(?:was|were))\b[^.?!]{{0,60}}?{_NOT_MINE}\s+(?P<verb>first)\s+
        (?!name|argument|arg\b|call\b|line|column|row|element|item|step|time|thing|place|class|parameter
        |(?:of|and|in|on|to|or|then)\b)\w
    |\bwhen\b[^.?!]{{0,80}}?\s(?P<once>for\s+the\s+first\s+time)\b"""
CONTRAST = r"\b(?:now|current(?:ly)?|today|vs|versus|jetzt|heute|aktuell)\b"
"""Words that set the present against the beginning: then both ends are asked for."""
