"""How sentences begin that are meant to last, in English, German and Spanish; and what tells that one is not."""

import functools
import re

_VERBS = (
    "use|run|write|add|put|keep|prefer|avoid|commit|push|deploy|name|format|test|ask|check|make|set|start"
    "|include|import|return|log|call|create|install|document|answer|respond|reply|explain|show|sign|squash"
    "|rebase|merge|update|delete|remove|touch|edit|change|mention|leave|pin|wrap|validate|escape|open|close"
    "|build|lint|follow|store|save|read|rely|assume|skip|disable|enable|ignore|mock|hardcode|hard-code|expose"
    "|share|send|print|generate|guess|invent|introduce|modify|bump|bypass|force|quote|translate|round|sort"
    "|cache|retry|review|verify|tag|release|ship|amend|prefix|suffix|cite|trim|drop|block|bind|parse|throw"
    "|raise|catch|handle|load|fetch|render|encode|decode|encrypt|hash|rotate|restart|publish|upload|download"
    "|copy|move|rename|split|join|fork|clone|link|nest|inline|extract|refactor|rewrite|declare|define"
    "|annotate|cast|convert|compare|select|query|insert|index|lock|await|spawn|kill|stop|wait|schedule|batch"
    "|flush|clean|clear|reset|restore|back|notify|allow|require|approve|assign|label|reference|trust|swallow|expect"
    "|fail|pass|tell|pull|revert|reuse|repeat"
)
_VERBS_DE = (
    "verwende|benutze|nutze|nimm|schreibe?|mache?|antworte|führe|lass|lege?|setze|halte|teste|prüfe|frage?"
    "|committe|pushe|deploye|nenne|formatiere|installiere|erkläre|zeige|lösche|ändere|bevorzuge|vermeide|speichere|starte|baue"
)
_VERBS_ES = (
    "usa|utiliza|emplea|escribe|pon|haz|ejecuta|responde|contesta|evita|prefiere|guarda|instala|prueba|pregunta"
    "|revisa|nombra|formatea|despliega|borra|cambia|documenta|explica|muestra|añade|crea|lanza"
)
_NOUNS = (
    r"(?:(?:full|legal|first|last|work|private|native|main|primary|default|preferred|favou?rite|github|slack)\s+)*"
    r"(?:name|pronouns|e-?mail(?: address)?|handle|user ?name|time ?zone|birthday|role|job title|city|country"
    r"|editor|shell|terminal|ide|os|operating system|keyboard(?: layout)?|language|laptop|stack|browser|linter"
    r"|formatter|package manager|test runner|framework|font|theme|indent|working hours|code style|date format)"
)
_STATES = (
    r"\w+ing|broken|frozen|slow|empty|down|dead|stuck|red|green|full|gone|missing|wrong|fine|ok|okay|not|still|so|too"
    r"|very|now|already|offline|old|new|right|weird|unclear|bad|good|also|always|never"
    r"|undefined|null|none|to\b"
)
"""What a thing is at the moment, as in "my editor is frozen": nobody's to remember."""

_NAMED = r"(?-i:[A-ZÄÖÜ0-9\"'/~@])"
"""How a proper name begins: what people and things of theirs are called."""

_NOUNS_DE = (
    r"(?:(?:vollständiger|bevorzugte[rs]?|liebster|liebstes|liebste)\s+)?"
    r"(?:name|vorname|nachname|e-?mail(?:-adresse)?|pronomen|zeitzone|geburtstag|rolle|beruf|team|chefin?|firma"
    r"|stadt|editor|shell|terminal|betriebssystem|tastatur(?:layout)?|muttersprache|sprache|rechner|browser"
    r"|paketmanager|lieblings\w+|standard\w+)"
)
_NOUNS_ES = (
    r"(?:nombre(?: completo)?|apellidos?|correo(?: electrónico)?|pronombres|zona horaria|cumpleaños|rol|puesto"
    r"|equipo|jefe|jefa|empresa|ciudad|editor|shell|terminal|sistema operativo|teclado|idioma|lengua materna"
    r"|portátil|navegador|gestor de paquetes)"
)

_NO_NEWS = (
    r"(?!(?:i|i'm|i've|i'll|it's|it is)\b)(?=.*\b(?:is|are|has|have|needs?|must|should|can|cannot|can't|will|won't"
    r"|does|doesn't|don't|runs?|uses?|lives?|allows?|takes?|starts?|ends?|gets?|goes|expires?|costs?|requires?|supports?"
    r"|returns?|belongs?|means?|only|never|always|\w{3,}s)\b)"
)
"""What is told about oneself is news and nothing to keep; and what holds is said in the present tense."""

_WHERE = r"(?:in|on|for(?! the\b))\s+(?:[\w./-]+,?\s+){1,4}"
"""Where a habit holds: "in the backend", "for tests"."""

_AT_LARGE = r"(?!\s+(?:the|if|when|not|to answer|how|what|your)\b)"
"""A taste is for things at large: what is before one's eyes is liked for the moment."""

_ENGLISH = (
    (
        rf"(?:you (?:should|must)\s+)?(?:always|never(?: ever)?|(?:do not|don't) ever)\s+(?:{_VERBS})\b",
        "convention",
    ),
    (r"(?:don't|do not|never) use\b[^,;]+[,;]\s*(?:but\s+)?use\b", "convention"),
    (rf"(?:don't|do not)\s+(?:{_VERBS})\b.*\bunless (?:i|you are|you're|asked|told)\b", "convention"),
    (r"stop (?:adding|using|writing|putting|creating|apologi[sz]ing|asking|explaining|committing)\b", "preference"),
    (r"we(?:'ve| have| all)?\s+(?:decided|agreed|settled on|chose|chosen|standardi[sz]ed on)\b", "decision"),
    (r"we(?:'ve| have)?\s+(?:switched|migrated) (?:from .+ )?to\b", "decision"),
    (r"we(?:'re| are| will|'ll)\s+(?:going with|go with|stick(?:ing)? with)\b", "decision"),
    (r"(?:the )?decision:\s*(?P<fact>.+)", "decision"),
    (rf"we\s+(?:always|never|only|usually)\s+(?:{_VERBS})\b", "convention"),
    (rf"(?:{_WHERE})?we\s+(?:use|deploy|release|host (?:all|everything)|squash|pin)\b", "convention"),
    (rf"my\s+{_NOUNS}\s+(?:is|are)\s+(?!(?:{_STATES})\b)", "fact"),
    (rf"my\s+(?:manager|boss|team|company|employer)\s+is\s+(?:called\s+)?{_NAMED}", "fact"),
    (rf"i(?:'m| am) (?:allergic to\b|vegetarian|vegan|(?:based|located) in\s+{_NAMED})", "fact"),
    (rf"i (?:live in|work (?:at|for))\s+{_NAMED}|i work as an?\b", "fact"),
    (rf"i\s+(?:strongly\s+|really\s+)?(?:prefer|dislike|hate|can't stand)\b{_AT_LARGE}", "preference"),
    (rf"i\s+(?:really\s+)?(?:don't|do not) (?:like|want you to)\b{_AT_LARGE}", "preference"),
    (
        r"(?:when(?:ever)? i [^,]{3,60},?\s+)?i\s+(?:always|never|usually|only)\s+(?:use|write|read|commit|test)\b",
        "preference",
    ),
    (
        r"i\s+want\s+(?:all|every|each)\s+(?:\w+\s+)?(?:messages?|commits?|answers?|comments?|tests?|names?|docs)\b",
        "preference",
    ),
    (rf"(?:remember|don't forget)(?:,?\s+that\s+|:\s*){_NO_NEWS}(?P<fact>.+)", "fact"),
    (rf"keep in mind,?\s+(?:that\s+)?{_NO_NEWS}(?P<fact>.+)", "fact"),
    (rf"(?:fyi|for (?:future reference|the record|your information))[,:]?\s+{_NO_NEWS}(?P<fact>.+)", "fact"),
    (
        (
            r"(?:from now on|going forward|in (?:the )?future,)[,:]?\s+(?:please\s+)?"
            rf"(?P<fact>(?:(?:we|you)\s+(?:only )?)?(?:always|never|don't|do not|all|every|each|{_VERBS})\b.+)"
        ),
        "convention",
    ),
)
_GERMAN = (
    (rf"(?:{_VERBS_DE})\s+(?:[\w-]+\s+){{0,4}}(?:immer|nie|niemals|stets|grundsätzlich)\b", "convention"),
    (
        r"(?:immer|nie|niemals|grundsätzlich)\s+(?!wenn\b|noch\b|wieder\b|mehr\b).+(?<!könn)(?<!müss)(?<!woll)(?<!soll)(?<!hab)(?:en|ern|eln)[.!]*$",
        "convention",
    ),
    (r"wir haben\s+.*\b(?:entschieden|beschlossen|vereinbart|geeinigt|festgelegt)\b", "decision"),
    (r"wir\s+(?:verwenden|nutzen|benutzen|deployen|releasen)\s+(?!(?:es|sie|das|ihn)\b)", "convention"),
    (r"wir\s+\w+\s+(?:immer|nie|niemals|grundsätzlich)\b", "convention"),
    (rf"meine?\s+{_NOUNS_DE}\s+(?:ist|sind|heißt|lautet)\s+{_NAMED}", "fact"),
    (rf"ich\s+(?:heiße|wohne in|arbeite (?:bei|als|für))\s+{_NAMED}", "fact"),
    (r"ich\s+(?:bin allergisch gegen|ernähre mich)\b", "fact"),
    (r"ich\s+(?:bevorzuge|hasse|mag (?:kein|keine|keinen))\b", "preference"),
    (
        r"ich\s+(?:nutze|verwende|benutze|schreibe|lese|nehme|teste)\s+(?:immer(?! noch)|nie|niemals|lieber)\b",
        "preference",
    ),
    (r"(?:merke? dir|denke? (?:bitte )?dr?aran|vergiss nicht)(?:,?\s+dass\s+\S+|:\s*(?P<fact>.+))", "fact"),
    (
        (
            rf"(?:ab jetzt|ab sofort|von nun an|künftig|in zukunft)\s+"
            rf"(?:(?:bitte|immer|nie|nur|keine?n?|{_VERBS_DE})\b|\w+en\s+wir\b)"
        ),
        "convention",
    ),
)
_SPANISH = (
    (rf"(?:{_VERBS_ES})\s+(?:\w+\s+){{0,3}}siempre\b", "convention"),
    (rf"siempre\s+(?:{_VERBS_ES})\b", "convention"),
    (r"(?:nunca|jamás)\s+(?:us|utilic|hag|escrib|pong|despliegu|borr|cambi|instal)(?:es|as)\b", "convention"),
    (r"no\s+\w+(?:es|as)\s+nunca\b", "convention"),
    (r"(?:hemos decidido|decidimos|hemos acordado|acordamos|quedamos en|optamos por)\b", "decision"),
    (r"(?:(?:nunca|siempre) )?(?:usamos|utilizamos|desplegamos)\s+\S+", "convention"),
    (rf"mi\s+{_NOUNS_ES}\s+(?:es|son)\s+{_NAMED}", "fact"),
    (r"mi\s+\w+ (?:favorit[oa]|preferid[oa]|por defecto)\s+es\b", "fact"),
    (rf"(?:me llamo|vivo en|trabajo (?:en|para))\s+{_NAMED}|trabajo como\b|soy alérgic[oa] a\b", "fact"),
    (r"(?:prefiero|no me gustan?|odio)\s+(?!(?:no|que|el|la)\b)\S+", "preference"),
    (r"(?:recuerda|ten en cuenta|no olvides|que no se te olvide) que\s+(?P<fact>.+)", "fact"),
    (
        (
            rf"(?:de ahora en adelante|a partir de ahora|en adelante)[,:]?\s+"
            rf"(?P<fact>(?:siempre|nunca|usamos|todos?|todas?|{_VERBS_ES})\b.+)"
        ),
        "convention",
    ),
)
_CORRECTIONS = (
    rf"(?:{_VERBS})\b.*\binstead\b",
    rf"(?:{_VERBS_DE})\s+.*\b(?:statt|anstatt|anstelle|stattdessen)\b",
    rf"(?:{_VERBS_ES})\s+.*\ben (?:vez|lugar) de\b",
)
_CLOSER = (
    (
        r"my\s+.*?\b(?:(?:user ?)?name|pronouns|birthday|handle|e-?mail|role|job|employer|company)\b|i work\b",
        "identity",
    ),
    (r"meine? (?:\w+ )?(?:\w*name|pronomen|geburtstag|e-?mail|beruf|firma)\b|ich (?:heiße|arbeite)\b", "identity"),
    (r"mi (?:nombre|apellidos?|correo|pronombres|cumpleaños|empresa|puesto)\b|me llamo\b|trabajo\b", "identity"),
    (r"my (?:\w+ )?(?:city|country|time ?zone)\b|i live in\b|i(?:'m| am) (?:based|located)\b", "location"),
    (r"meine? (?:zeitzone|stadt)\b|ich wohne\b|mi (?:zona horaria|ciudad)\b|vivo en\b", "location"),
    (r"my (?:manager|boss|team)\b|meine? (?:chefin?|team)\b|mi (?:jefe|jefa|equipo)\b", "people"),
    (r".*\b(?:allergic|vegetarian|vegan|allergisch|alérgic[oa])\b|ich ernähre\b", "health"),
    (r"(?:my|meine?|mi)\s", "preference"),
)


@functools.cache
def opening() -> re.Pattern[str]:
    """Any of the ways in which a statement begins: most sentences begin otherwise, and are left at once."""
    rows = [pattern for pattern, _ in (*_ENGLISH, *_GERMAN, *_SPANISH)]
    every = "|".join((*rows, *_CORRECTIONS)).replace("(?P<fact>", "(?:")
    return re.compile(every, re.IGNORECASE)


@functools.cache
def cues() -> tuple[tuple[re.Pattern[str], str], ...]:
    """How a statement begins → its kind; the first that fits counts."""
    rows = (*_ENGLISH, *_GERMAN, *_SPANISH)
    return tuple((re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in rows)


@functools.cache
def corrections() -> tuple[re.Pattern[str], ...]:
    """What is a statement after a denial only: alone it is an order for the moment."""
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _CORRECTIONS)


@functools.cache
def closer() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What a fact about a person is about; such kinds are mostly curated."""
    return tuple((re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in _CLOSER)


@functools.cache
def lead() -> re.Pattern[str]:
    """Words before a statement that are no part of it."""
    marked = (
        "no|nope|nah|wrong|actually|ok|okay|yes|nein|doch|falsch|ja|sí|vale|incorrecto|perdón|hey|hi|hola|hallo"
    )
    plain = (
        "please|pls|also|and|but|so|btw|by the way|bitte|und|auch|aber|übrigens|por favor|además|pero|por cierto"
    )
    spoken = rf"(?:{marked})\s*[,.!:;\u2013-]+\s*|no\s+(?=(?:use|don't)\b)|(?:{plain})[,:]?\s+"
    return re.compile(rf"\A(?:{spoken})*", re.IGNORECASE)


@functools.cache
def denial() -> re.Pattern[str]:
    """How a correction begins."""
    said = "no|nope|nah|wrong|that's wrong|not quite|actually|nein|falsch|incorrecto|eso no"
    return re.compile(rf"(?:{said})\s*[,.!:;\u2013-]+\s*|no\s+(?=(?:use|don't)\b)", re.IGNORECASE)


@functools.cache
def passing() -> re.Pattern[str]:
    """What holds for the moment, or perhaps not at all."""
    english = (
        r"for now|this time|this once|today|tonight|tomorrow|(?<!from )now|temporarily|for the moment|then"
        r"|next (?:week|sprint)|in this (?:pr|commit|branch|change|session|case)|(?:run|ran) into|wrong|twice|still"
        r"|maybe|perhaps|probably|i think|i guess|i wonder|not sure|yet|lol|soon|is (?:that|this|it)|why|yesterday"
        r"|should be|and it|(?:show|tell|give) me"
        r"|in (?:a|an|one|two|five|ten|\d+) (?:minute|hour|second|day)s?"
    )
    german = (
        "noch nicht|vorerst|erstmal|erst mal|diesmal|heute|momentan|gerade|vielleicht|wahrscheinlich|vermutlich"
        "|ich glaube|falsche[nrs]?|zweimal|mal"
    )
    spanish = (
        "todavía|aún no|por ahora|de momento|esta vez|hoy|mañana|quizás?|tal vez|a lo mejor|creo que|probablemente"
        "|equivocad[oa]|dos veces"
    )
    return re.compile(rf"\b(?:{english}|{german}|{spanish})\b", re.IGNORECASE)


@functools.cache
def local() -> re.Pattern[str]:
    """What ties a statement to the place in which it was said: "in this repo", "im Projekt", "en la app"."""
    things = (
        "repo|repository|project|codebase|code ?base|app|service|library|package|module|backend|frontend|monorepo"
    )
    dinge = "projekt|repo|repository|app|dienst|backend|frontend|modul|paket"
    cosas = "proyecto|repositorio|repo|app|servicio|backend|frontend|paquete|módulo"
    rows = (
        rf"(?:in|for|on|of|with) (?:this|the|our) (?:\w+ )?(?:{things})",
        rf"(?:in|für|an|bei) (?:diese[mnrs]?|de[mnr]|unsere[mnrs]?) (?:\w+ )?(?:{dinge})|im (?:\w+ )?(?:{dinge})",
        rf"(?:en|para|de) (?:este|esta|el|la|nuestr[oa]) (?:{cosas})",
    )
    return re.compile(rf"\b(?:{'|'.join(rows)})\b", re.IGNORECASE)


@functools.cache
def pointing() -> re.Pattern[str]:
    """What nobody understands who does not see the same screen."""
    here = "repo|repository|project|codebase|team|company|workspace|machine|organi[sz]ation|app|service|library"
    hier = "projekt|projekts|repo|repository|team|firma|rechner|app"
    aqui = "proyecto|repositorio|repo|equipo|empresa|máquina|app"
    things = "one|ones|file|function|line|way|test|class|method|thing|approach|option|branch|error|change|part|bug"
    verbs = "use|prefer|like|hate|do|how|want|put|make|leave|keep|call|run|add|test|check|change|remove|delete"
    rows = (
        rf"(?:this|these)\b(?!\s+(?:{here})\b)",
        rf"(?:that|those)\s+(?:{things})",
        rf"(?:{verbs})\s+(?:it|them|that)",
        r"the same|the (?:old|new) one|here|above|below|(?:option|variante|opción)\s+[a-d0-9]",
        rf"the\s+(?:other|second|first|latter|former|last|next|previous)(?:\s+(?:{things}))?",
        rf"dies(?:e|er|es|en|em)?\b(?!\s+(?:{hier})\b)",
        "hier|dafür|dabei|damit|das andere|oben|unten|dieselben?|dasselbe",
        rf"(?:est|es)[eoa]s?\b(?!\s+(?:{aqui})\b)",
        "aquí|l[oa] mism[oa]|el mismo|lo otro|el otro|la otra|arriba|abajo",
    )
    return re.compile(rf"\b(?:{'|'.join(rows)})\b", re.IGNORECASE)
